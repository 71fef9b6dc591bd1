package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"polygrad/core/tensor/ops"
)

// nameLists are the names of other interfaces, in tests/api, by the titles of their sections. A name is one of a namespace.
var nameLists = []struct{ title, file, text string }{
	{"Compared with the array API", "array_api.tsv", "The names of the array API standard, revision 2024.12, in Python's `polygrad.numpy`."},
	{"Compared with jax-js", "jaxjs.tsv", "Names of `@jax-js/jax` 0.1.25, of which many are NumPy's and JAX's. In JavaScript `polygrad/jax` has all of them, in their form. Functions described for all languages have the names of the link."},
	{"Compared with optax", "optax.tsv", "Names of optax 0.2.8, in Python's `polygrad.optim`; `polygrad/optax` in JavaScript has those of `@jax-js/optax`. `polygrad.nn.optim` has optimizers that hold parameters: see [Optimizers](#optimizers)."},
}

// spaces are where names of a namespace are looked for: modules of descriptions (or "" for methods of tensors), and files of Python's package.
var spaces = map[string]struct {
	modules []string
	python  []string
}{
	"numpy":         {[]string{"numpy"}, []string{"numpy/__init__.py", "numpy/_info.py"}},
	"numpy.linalg":  {[]string{"linalg", "numpy"}, []string{"numpy/linalg.py"}},
	"numpy.fft":     {[]string{"fft"}, []string{"numpy/fft.py"}},
	"lax":           {[]string{"lax", "special"}, []string{"lax/__init__.py", "lax/_forms.py", "func/__init__.py"}},
	"lax.linalg":    {[]string{"linalg"}, nil},
	"scipy.special": {[]string{"special"}, nil},
	"nn":            {[]string{"", "special"}, nil},
	"random":        {[]string{"random"}, nil},

	"optax":             {nil, optimFiles},
	"optax.losses":      {nil, []string{"optim/losses.py"}},
	"optax.contrib":     {nil, []string{"optim/contrib.py"}},
	"optax.projections": {nil, []string{"optim/projections.py"}},
	"optax.tree":        {nil, []string{"optim/tree.py"}},
}

// optimFiles are the modules whose names are those of polygrad.optim.
var optimFiles = strings.Fields(`optim/__init__.py optim/_base.py optim/_masks.py optim/_optimizers.py optim/_rules.py optim/_schedules.py
	optim/_states.py optim/_transforms.py optim/_wrappers.py optim/losses.py`)

var capital = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// snakeCase is a name in camelCase in snake_case.
func snakeCase(name string) string {
	if strings.HasPrefix(name, "__") {
		return name
	}
	return strings.ToLower(capital.ReplaceAllString(strings.TrimSuffix(name, "_"), "${1}_${2}"))
}

// rows are the lines of a table in tests/api behind its head, cut at tabs.
func rows(root, file string) ([][]string, error) {
	text, err := os.ReadFile(filepath.Join(root, "tests/api", file))
	if err != nil {
		return nil, err
	}
	var all [][]string
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		all = append(all, strings.Split(line, "\t"))
	}
	return all, nil
}

// names writes what stands for each name of other interfaces. A name for which nothing stands needs a reason in tests/api/names.tsv: what is
// there instead, or why it is missing.
func (p *page) names(root string) error {
	reasons, used := map[string]string{}, map[string]bool{}
	list, err := rows(root, "names.tsv")
	if err != nil {
		return err
	}
	for _, r := range list {
		reasons[r[0]+"."+r[1]] = r[2]
	}
	sources := map[string]string{}
	for _, list := range nameLists {
		all, err := rows(root, list.file)
		if err != nil {
			return err
		}
		fmt.Fprintf(p, "\n## %s\n\n%s\n", list.title, list.text)
		last := ""
		for _, r := range all {
			namespace, name := r[0], r[1]
			space, known := spaces[namespace]
			if !known {
				return fmt.Errorf("tests/api/%s: %s is no namespace that is looked for", list.file, namespace)
			}
			if namespace != last {
				fmt.Fprintf(p, "\n**%s**\n\n| name | here |\n|---|---|\n", namespace)
				last = namespace
			}
			inPython := strings.HasPrefix(namespace, "optax")
			here, own, isType := "", snakeCase(name), name[0] >= 'A' && name[0] <= 'Z'
			if !isType {
				here = p.standsFor(space.modules, own)
			} else if inPython { // a class, whose name is the same
				own, isType = name, false
			}
			for _, file := range space.python {
				if here != "" || isType {
					break
				}
				if sources[file] == "" {
					text, err := os.ReadFile(filepath.Join(root, "bindings/python/polygrad", file))
					if err != nil {
						return err
					}
					sources[file] = string(text)
				}
				if definedInPython(sources[file], own) {
					module := strings.Replace(strings.TrimPrefix(namespace, "numpy."), "optax", "optim", 1)
					here = "Python: `" + module + "." + own + "`"
				}
			}
			reason, given := reasons[namespace+"."+name]
			switch {
			case here == "" && !given:
				return fmt.Errorf("tests/api/%s: nothing stands for %s of %s, and tests/api/names.tsv has no reason", list.file, name, namespace)
			case here == "":
				here = reason
				used[namespace+"."+name] = true
			}
			fmt.Fprintf(p, "| `%s` | %s |\n", name, here)
		}
	}
	for name := range reasons {
		if !used[name] {
			return fmt.Errorf("tests/api/names.tsv: %s is there, or in no list", name)
		}
	}
	return nil
}

// standsFor is a link to the function of a module, or the method of tensors for the module "", with a name or an alias.
func (p *page) standsFor(modules []string, name string) string {
	for _, module := range modules {
		full := name
		if module != "" {
			full = module + "." + name
			for i := range ops.Modules {
				for _, alias := range ops.Modules[i].Aliases {
					if ops.Modules[i].Name == module && alias[0] == name {
						full = module + "." + alias[1]
					}
				}
			}
		}
		if _, found := ops.Find(full); found {
			return fmt.Sprintf("[`%s`](#%s)", full, p.anchorOf[full])
		}
	}
	return ""
}

// definedInPython tells whether a source of Python defines a name for users, or imports it as one.
func definedInPython(source, name string) bool {
	word := regexp.QuoteMeta(name)
	return regexp.MustCompile(`(?m)^(def|class) `+word+`\b|^(\w+, |\w+ = )*`+word+`(, \w+)* = |^    `+word+`,$|import .*\b`+word+`$`).MatchString(source) &&
		!slices.Contains([]string{"", "_"}, name)
}
