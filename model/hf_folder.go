package model

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"polygrad/exec"
	"polygrad/model/files"
)

// OpenHF makes a model from a folder with config.json and safetensors files: those that an index names, or model.safetensors, or else
// all of them. They are mapped while they are read; one that cannot be read is an error, also with o.Partial. Otherwise it is LoadHF.
func OpenHF(e *exec.Executor, path string, o HFOptions) (*Instance, error) {
	m, err := openHF(e, path, o)
	if err != nil {
		return nil, fmt.Errorf("model.OpenHF: %w", err)
	}
	return m, nil
}

func openHF(e *exec.Executor, path string, o HFOptions) (*Instance, error) {
	const name = "config.json"
	config, err := os.ReadFile(filepath.Join(path, name))
	if err != nil {
		return nil, fmt.Errorf("path: %w", err)
	}
	weights, err := files.Open(path, files.Safetensors)
	if err != nil {
		return nil, fmt.Errorf("path: %s: %w", path, errors.Unwrap(err))
	}
	defer weights.Close()
	m, err := loadHF(e, "path: "+filepath.Join(path, name), "path: "+path, config, []weightFile{{weights, "path: " + path}}, o)
	if err != nil {
		return nil, err
	}
	if err := m.readEnds(filepath.Join(path, "generation_config.json")); err != nil {
		m.Free()
		return nil, fmt.Errorf("path: %w", err)
	}
	return m, nil
}

// readEnds takes the tokens that end a text from a file, if there is one that has them.
func (m *Instance) readEnds(file string) error {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	config, err := files.ParseObject(text)
	if err != nil {
		return fmt.Errorf("%s: %w", file, errors.Unwrap(err))
	}
	ends, err := endsOf(config)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if ends != nil {
		m.ends = ends
	}
	return nil
}

// endsOf are the tokens that end a text, of which a configuration has one, a list, or none.
func endsOf(config *files.Dict) ([]int32, error) {
	const name = "eos_token_id"
	given, _ := config.Get(name)
	if given == nil {
		return nil, nil
	}
	items := []files.Value{given}
	if list, is := given.(*files.List); is {
		items = list.Items
	}
	ends := []int32{}
	for _, v := range items {
		n, is := v.(int64)
		if !is || n != int64(int32(n)) {
			return nil, fmt.Errorf("%s: %v, expected tokens", name, v)
		}
		ends = append(ends, int32(n))
	}
	return ends, nil
}

// Ends are the tokens that end a text, by the configuration of the model.
func (m *Instance) Ends() []int32 { return m.ends }
