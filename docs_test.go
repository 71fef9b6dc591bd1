package polygrad_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The examples of docs/go.md and of the package documentation are those of example_test.go and of package tree, except for indentation.
func TestExamplesOfThePageAreRun(t *testing.T) {
	page, err := os.ReadFile("docs/go.md")
	if err != nil {
		t.Fatal(err)
	}
	var examples []byte
	for _, name := range []string{"example_test.go", "tree/example_test.go"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		examples = append(examples, text...)
	}
	plain := func(text string) string {
		text = regexp.MustCompile(`\s*// .*`).ReplaceAllString(text, "")
		return strings.Join(strings.Fields(text), " ")
	}
	run := plain(string(examples))
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) < 5 {
		t.Fatalf("%d examples", len(blocks))
	}
	documentation, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range regexp.MustCompile(`(?m)(?:^//\t.*\n)+`).FindAllString(string(documentation), -1) {
		blocks = append(blocks, []string{"", strings.ReplaceAll(b, "//\t", "")})
	}
	for _, b := range blocks {
		if !strings.Contains(run, plain(b[1])) {
			t.Errorf("no example is\n%s", b[1])
		}
	}
}
