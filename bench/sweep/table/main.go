// Table prints the descriptions of all operations as JSON, for the sweep.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"polygrad/core/tensor/ops"
)

type param struct {
	Name, Kind string
	Optional   bool
	Default    bool // whether there is one
	Choices    []string
}

type operation struct {
	Topic, Name, Form string
	Params            []param
	Random, View      bool
}

func main() {
	forms := map[ops.Form]string{ops.Method: "method", ops.Maker: "maker", ops.Joiner: "joiner"}
	var all []operation
	for _, topic := range ops.Topics {
		for _, op := range topic.Ops {
			o := operation{topic.Name, op.Name, forms[op.Form], []param{}, op.Random, op.View}
			for _, p := range op.Params {
				o.Params = append(o.Params, param{p.Name, p.Kind.String(), p.Optional, p.Default != nil, p.Choices})
			}
			all = append(all, o)
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(all); err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
}
