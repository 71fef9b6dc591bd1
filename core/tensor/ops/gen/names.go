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
	{"Compared with NumPy", "numpy.tsv", "The names of numpy 2.4 and jax.numpy 0.10, in Python's `polygrad.numpy`."},
	{"Compared with SciPy", "scipy.tsv", "The names of scipy 1.17's `special` and `linalg`, and of those of jax.scipy, in `special` and `linalg`."},
	{"Compared with JAX", "jax.tsv", "The names of jax 0.10, but for those of jax.numpy and jax.scipy. Transformations are those of `polygrad.func`, in Python."},
	{"Compared with the array API", "array_api.tsv", "The names of the array API standard, revision 2024.12, in Python's `polygrad.numpy`."},
	{"Compared with jax-js", "jaxjs.tsv", "Names of `@jax-js/jax` 0.1.25, of which many are NumPy's and JAX's. In JavaScript `polygrad/jax` has all of them, in their form. Functions described for all languages have the names of the link."},
	{"Compared with optax", "optax.tsv", "Names of optax 0.2.8, in Python's `polygrad.optim`; `polygrad/optax` in JavaScript has those of `@jax-js/optax`. `polygrad.nn.optim` has optimizers that hold parameters: see [Optimizers](#optimizers)."},
}

// spaces are where names of a namespace are looked for: modules of descriptions (or "" for methods of tensors), and files of Python's package.
var spaces = map[string]struct {
	modules []string
	python  []string
}{
	"numpy":         {[]string{"numpy"}, strings.Fields("numpy/__init__.py numpy/_creation.py numpy/_fits.py numpy/_histograms.py numpy/_info.py numpy/_padding.py numpy/_sets.py")},
	"numpy.linalg":  {[]string{"linalg", "numpy"}, []string{"numpy/linalg.py"}},
	"numpy.fft":     {[]string{"fft"}, []string{"numpy/fft.py"}},
	"jax":           {nil, []string{"func/__init__.py"}},
	"lax":           {[]string{"lax", "special", "numpy"}, []string{"lax/__init__.py", "lax/_forms.py", "func/__init__.py"}},
	"lax.linalg":    {[]string{"linalg"}, nil},
	"scipy.special": {[]string{"special", "numpy"}, nil},
	"scipy.linalg":  {[]string{"linalg"}, []string{"numpy/linalg.py"}},
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

// isType tells whether a name is that of a type: they begin with a capital.
func isType(name string) bool { return name[0] >= 'A' && name[0] <= 'Z' }

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

// reasons are those of tests/api/names.tsv by names with their namespaces: what is there instead of a name, or why it is missing.
func reasons(root string) (map[string]string, error) {
	list, err := rows(root, "names.tsv")
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, r := range list {
		for name := range strings.FieldsSeq(r[1]) {
			if all[r[0]+"."+name] != "" {
				return nil, fmt.Errorf("tests/api/names.tsv: %s.%s has two reasons", r[0], name)
			}
			all[r[0]+"."+name] = r[2]
		}
	}
	return all, nil
}

// names writes what stands for each name of other interfaces. A name for which nothing stands needs a reason in tests/api/names.tsv.
func (p *page) names(root string) error {
	reasons, err := reasons(root)
	if err != nil {
		return err
	}
	var missing []string
	used := map[string]bool{}
	sources := map[string]string{}
	for _, list := range nameLists {
		all, err := rows(root, list.file)
		if err != nil {
			return err
		}
		fmt.Fprintf(p, "\n## %s\n\n%s\n", list.title, list.text)
		var here, order []string
		others := map[string][]string{} // names by their reasons
		for i, r := range all {
			namespace, name := r[0], r[1]
			space, known := spaces[namespace]
			if !known {
				return fmt.Errorf("tests/api/%s: %s is no namespace that is looked for", list.file, namespace)
			}
			own := name
			if list.file == "jaxjs.tsv" && !isType(name) {
				own = snakeCase(name)
			}
			found, err := p.found(root, namespace, own, space.modules, space.python, sources)
			if err != nil {
				return err
			}
			key := namespace + "." + own
			reason, given := reasons[key]
			switch {
			case found != "":
				here = append(here, fmt.Sprintf(found, name))
			case !given:
				missing = append(missing, key)
			default:
				used[key] = true
				if others[reason] == nil {
					order = append(order, reason)
				}
				others[reason] = append(others[reason], "`"+name+"`")
			}
			if i+1 < len(all) && all[i+1][0] == namespace {
				continue
			}
			fmt.Fprintf(p, "\n**%s**: %s.\n", namespace, strings.Join(here, ", "))
			if len(order) > 0 {
				fmt.Fprintf(p, "\n| others of %s | instead, or why not |\n|---|---|\n", namespace)
			}
			for _, reason := range order {
				fmt.Fprintf(p, "| %s | %s |\n", strings.Join(others[reason], " "), reason)
			}
			here, order = nil, nil
			clear(others)
		}
	}
	if missing != nil {
		return fmt.Errorf("tests/api/names.tsv has no reason for names for which nothing stands: %s", strings.Join(missing, " "))
	}
	for name := range reasons {
		if !used[name] {
			return fmt.Errorf("tests/api/names.tsv: %s is there, or in no list", name)
		}
	}
	return nil
}

// found is the form of a name that is there: a link to a described function, plain for one of Python alone, "" for one that is not.
func (p *page) found(root, namespace, own string, modules, python []string, sources map[string]string) (string, error) {
	if anchor := p.standsFor(modules, own); anchor != "" {
		return "[`%s`](#" + anchor + ")", nil
	}
	for _, file := range python {
		if sources[file] == "" {
			text, err := os.ReadFile(filepath.Join(root, "bindings/python/polygrad", file))
			if err != nil {
				return "", err
			}
			sources[file] = string(text)
		}
		if definedInPython(sources[file], own) {
			return "`%s`", nil
		}
	}
	return "", nil
}

// standsFor is the anchor of the function of a module, or the method of tensors for the module "", with a name or an alias.
func (p *page) standsFor(modules []string, name string) string {
	for _, module := range modules {
		full := name
		if module != "" {
			full = module + "." + name
			for i := range ops.Modules() {
				for _, alias := range ops.Modules()[i].Aliases {
					if ops.Modules()[i].Name == module && alias[0] == name {
						full = module + "." + alias[1]
					}
				}
			}
		}
		if _, found := ops.Find(full); found {
			return p.anchorOf[full]
		}
	}
	return ""
}

// definedInPython tells whether a source of Python defines a name for users, or imports it as one.
func definedInPython(source, name string) bool {
	word := regexp.QuoteMeta(name)
	return regexp.MustCompile(`(?m)^(def|class) `+word+`\b|^(\w+, |\w+ = )*`+word+`(, \w+)* = |^    `+word+`,$|import .*\b`+word+`$|^    "`+word+`",$`).MatchString(source) &&
		!slices.Contains([]string{"", "_"}, name)
}
