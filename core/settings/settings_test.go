package settings

import (
	"testing"
)

// clear makes all variables unset.
func clear(t *testing.T) {
	for _, v := range Table {
		t.Setenv(v.Name, "")
	}
}

func TestDefaults(t *testing.T) {
	clear(t)
	if err := Validate(); err != nil {
		t.Error(err)
	}
	seen := map[string]bool{}
	for _, v := range Table {
		if seen[v.Name] || v.Meaning == "" || v.IsSet() || v.Get() != v.Default || v.Default != "" && !v.Values.Has(v.Default) {
			t.Errorf("%s stands twice, has no meaning, or is not its default when it is empty: %+v", v.Name, v)
		}
		seen[v.Name] = true
	}
}

func TestValues(t *testing.T) {
	clear(t)
	for _, c := range []struct {
		v        *Variable
		text     string
		expected string // of the error, "" for none
	}{
		{&Device, "wasm", ""},
		{&Device, "abacus", `POLY_DEVICE: got "abacus", expected ` + devices.String()},
		{&CPU, "avx2", ""},
		{&CPU, "AVX2", `POLY_CPU: got "AVX2", expected one of avx512, avx2, sse4, wasm`},
		{&Threads, "1", ""},
		{&Threads, "256", ""},
		{&Threads, "0", `POLY_THREADS: got "0", expected 1 to 256`},
		{&Threads, "257", `POLY_THREADS: got "257", expected 1 to 256`},
		{&Threads, "two", `POLY_THREADS: got "two", expected 1 to 256`},
		{&Threads, "1.5", `POLY_THREADS: got "1.5", expected 1 to 256`},
		{&F32, "bf16x3", ""},
		{&F32, "tf32", `POLY_F32: got "tf32", expected one of exact, bf16x3`},
		{&Fuse, "0", ""},
		{&Fuse, "off", `POLY_FUSE: got "off", expected one of 0, 1`},
		{&Beam, "64", ""},
		{&Beam, "-1", `POLY_BEAM: got "-1", expected 0 to 64`},
		{&Beam, "99999999999999999999", `POLY_BEAM: got "99999999999999999999", expected 0 to 64`},
		{&CacheMB, "64", ""},
		{&CacheMB, "0", `POLY_CACHE_MB: got "0", expected 1 to 1048576`},
		{&CacheMB, "64MB", `POLY_CACHE_MB: got "64MB", expected 1 to 1048576`},
		{&Cache, "/any/where", ""},
		{&Check, "1", ""},
		{&Check, "true", `POLY_CHECK: got "true", expected one of 0, 1`},
		{&Dump, "all", ""},
		{&Dump, "number", ""},
		{&Dump, "typo", `POLY_DUMP: got "typo", expected one of all, number`},
		{&Perf, "yes", `POLY_PERF: got "yes", expected one of 0, 1`},
		{&GOGC, "off", ""},
		{&GOGC, "100", ""},
		{&GOGC, "-1", `GOGC: got "-1", expected a percentage or off`},
		{&GOGC, "50%", `GOGC: got "50%", expected a percentage or off`},
	} {
		t.Run(c.v.Name+"="+c.text, func(t *testing.T) {
			t.Setenv(c.v.Name, c.text)
			got := ""
			if err := Validate("all", "number"); err != nil {
				got = err.Error()
			}
			if got != c.expected {
				t.Errorf("got %q, expected %q", got, c.expected)
			}
			value := c.text
			if c.expected != "" && c.v != &Dump {
				value = c.v.Default
			}
			if c.v.Get() != value || !c.v.IsSet() {
				t.Errorf("it is %q, expected %q", c.v.Get(), value)
			}
		})
	}
}

func TestNumbersAndSwitches(t *testing.T) {
	clear(t)
	if Threads.Number() != 0 || Beam.Number() != 0 || !Fuse.On() || Check.On() {
		t.Error("what is unset is not its default")
	}
	t.Setenv(Threads.Name, "3")
	t.Setenv(Fuse.Name, "0")
	t.Setenv(Check.Name, "1")
	if Threads.Number() != 3 || Fuse.On() || !Check.On() {
		t.Error("what is set is not its value")
	}
}

func TestDumps(t *testing.T) {
	for _, c := range []struct {
		text string
		want bool
	}{{"", false}, {"expander", true}, {"linearize", false}, {"all", true}} {
		t.Setenv(Dump.Name, c.text)
		if Dumps("expander") != c.want {
			t.Errorf("POLY_DUMP=%s: printed %v, expected %v", c.text, !c.want, c.want)
		}
	}
}

func TestCopy(t *testing.T) {
	clear(t)
	t.Setenv(Threads.Name, "3")
	t.Setenv(Beam.Name, "2")
	host := map[string]string{Device.Name: "interp", Beam.Name: "2"}
	Copy(func(name string) string { return host[name] })
	for _, v := range Table {
		want := host[v.Name]
		if want == "" {
			want = v.Default
		}
		if v.Get() != want || v.IsSet() != (host[v.Name] != "") {
			t.Errorf("%s is %q, want %q", v.Name, v.Get(), want)
		}
	}
}

func TestPartsOfCaches(t *testing.T) {
	clear(t)
	if n := CacheBytes(4); n != 1<<30 {
		t.Errorf("caches keep %d bytes, expected a GiB", n)
	}
	t.Setenv(CacheMB.Name, "1")
	if n := CacheBytes(1); n != 1<<18 {
		t.Errorf("a quarter of a MiB is %d bytes", n)
	}
}
