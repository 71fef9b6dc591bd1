// Command state trains a network, whose state and data are in files that another language wrote, for so many steps, and writes both
// back.
package main

import (
	"log"
	"maps"
	"os"
	"path/filepath"

	"polygrad"
)

type layer struct{ Weight, Bias *polygrad.Tensor }

func newLayer(shape ...int) layer {
	return layer{polygrad.Zeros(shape), polygrad.Zeros(shape[:1])}
}

func main() {
	if err := train(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func train(folder, kind string) error {
	at := func(name string) string { return filepath.Join(folder, name) }
	net := struct{ Layers []layer }{[]layer{newLayer(8, 4), newLayer(8), newLayer(2, 8)}}
	optimizer, err := map[string]func([]*polygrad.Tensor) (*polygrad.Optimizer, error){
		"sgd": func(p []*polygrad.Tensor) (*polygrad.Optimizer, error) {
			return polygrad.NewSGD(p, 0.5, polygrad.SGDOptions{Momentum: 0.9})
		},
		"adam": func(p []*polygrad.Tensor) (*polygrad.Optimizer, error) {
			return polygrad.NewAdam(p, 0.5, polygrad.DefaultAdam)
		},
		"adamw": func(p []*polygrad.Tensor) (*polygrad.Optimizer, error) {
			o := polygrad.DefaultAdam
			o.WeightDecay = 0.1
			return polygrad.NewAdamW(p, 0.5, o)
		},
	}[kind](polygrad.Parameters(net))
	if err != nil {
		return err
	}
	everything := map[string]any{"net": net, "optimizer": optimizer}
	state, err := polygrad.Load(at("state.safetensors"))
	if err != nil {
		return err
	}
	if err := polygrad.LoadState(everything, state); err != nil {
		return err
	}
	data, err := polygrad.Load(at("data.safetensors"))
	if err != nil {
		return err
	}
	var losses []float64
	l := net.Layers
	for range 5 {
		optimizer.ZeroGrad()
		linear := func(x *polygrad.Tensor, l layer) *polygrad.Tensor {
			return x.Linear(l.Weight.T(), polygrad.WithBias(l.Bias))
		}
		out := linear(data["x"], l[0]).LayerNorm().Mul(l[1].Weight).Add(l[1].Bias)
		loss := linear(out.ReLU(), l[2]).Sub(data["y"]).Square().Mean()
		if err := loss.Backward().Err(); err != nil {
			return err
		}
		if err := optimizer.Step(); err != nil {
			return err
		}
		x, err := loss.Item()
		if err != nil {
			return err
		}
		losses = append(losses, x)
	}
	back := maps.Clone(polygrad.State(everything))
	back["losses"] = polygrad.From(losses)
	return polygrad.Save(at("back.safetensors"), back, nil)
}
