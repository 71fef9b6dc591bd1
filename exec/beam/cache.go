package beam

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"polygrad/core/nest/plan"
	"polygrad/core/settings"
)

// Cache is the choices found before, by this process and others, in a file of text lines: the key of a kernel, its choice (- for
// none), and the time of a run in nanoseconds. Of several lines for a key the last one counts. Problems with the file are no
// errors: missing entries are searched again. A notice says that a file in POLY_CACHE_DIR cannot be written.
type Cache struct {
	path string

	mu    sync.Mutex
	found map[string]plan.Choice
	read  int64 // bytes of the file that were read
}

const (
	// mostBytes is the file size from which the older half is dropped.
	mostBytes = 1 << 20
	// noChoice is the heuristics' choice.
	noChoice = "-"
)

// Dir is the directory of cache files: POLY_CACHE_DIR, or else polygrad in the user's cache directory; "" if there is none.
func Dir() string {
	if d := settings.Cache.Get(); d != "" {
		return d
	}
	d, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(d, "polygrad")
}

// OpenCache opens the cache of a machine in a directory. Without one it keeps choices in memory.
func OpenCache(dir, machine string) *Cache {
	c := &Cache{found: map[string]plan.Choice{}}
	if dir == "" {
		return c
	}
	c.path = filepath.Join(dir, "beam-"+machine+".txt")
	if s, err := os.Stat(c.path); err == nil && s.Size() > mostBytes {
		c.shrink()
	}
	return c
}

// Get returns the choice for a kernel.
func (c *Cache) Get(key string) (plan.Choice, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	choice, ok := c.found[key]
	if !ok {
		c.reload()
		choice, ok = c.found[key]
	}
	return choice, ok
}

// Put adds the choice for a kernel.
func (c *Cache) Put(key string, choice plan.Choice, t time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.found[key] = choice
	if c.path == "" {
		return
	}
	text := string(choice)
	if text == "" {
		text = noChoice
	}
	if err := c.add(fmt.Sprintf("%s %s %d\n", key, text, t.Nanoseconds())); err != nil && settings.Cache.Get() != "" {
		unwritable.Do(func() {
			fmt.Fprintf(os.Stderr, "polygrad: POLY_CACHE_DIR: %v; expected a directory that can be written: results of searches are not kept\n", err)
		})
	}
}

// unwritable prints its notice once in a process.
var unwritable sync.Once

// add appends a line to the file.
func (c *Cache) add(line string) error {
	if err := os.MkdirAll(filepath.Dir(c.path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(c.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	// One write of a whole line: lines of several processes do not mix.
	_, err = f.WriteString(line)
	return errors.Join(err, f.Close())
}

// reload reads the file if it has changed.
func (c *Cache) reload() {
	if c.path == "" {
		return
	}
	if s, err := os.Stat(c.path); err != nil || s.Size() == c.read {
		return
	}
	data, err := os.ReadFile(c.path)
	if err != nil {
		return
	}
	c.read = int64(len(data))
	for line := range strings.Lines(string(data)) {
		if key, choice, ok := parseLine(line); ok {
			c.found[key] = choice
		}
	}
}

// parseLine parses a line; incomplete lines are ignored.
func parseLine(line string) (key string, choice plan.Choice, ok bool) {
	words := strings.Fields(line)
	if len(words) != 3 || len(words[0]) != keyLength || !strings.HasSuffix(line, "\n") {
		return "", "", false
	}
	if _, err := strconv.ParseInt(words[2], 10, 64); err != nil {
		return "", "", false
	}
	if words[1] == noChoice {
		return words[0], "", true
	}
	choice, err := plan.ParseChoice(words[1])
	return words[0], choice, err == nil
}

// shrink drops the older half of the file.
func (c *Cache) shrink() {
	data, err := os.ReadFile(c.path)
	if err != nil {
		return
	}
	data = data[len(data)/2:]
	data = data[bytes.IndexByte(data, '\n')+1:]
	f, err := os.CreateTemp(filepath.Dir(c.path), "beam-*.tmp")
	if err != nil {
		return
	}
	_, err = f.Write(data)
	if e := f.Close(); err != nil || e != nil || os.Rename(f.Name(), c.path) != nil {
		_ = os.Remove(f.Name())
	}
}
