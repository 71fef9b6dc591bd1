// Go trains a small network on handwritten digits.
//
//	go run ./examples/go            with the native device
//	CGO_ENABLED=0 go run ./examples/go   in pure Go, with the portable one
//
// 1,797 digits of 8x8 pixels; one fifth is held back for the test. A network with two hidden layers learns from the rest in
// mini-batches; the program ends with the accuracy on the test digits.
package main

import (
	"compress/gzip"
	"encoding/csv"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"strconv"

	"polygrad"
)

const (
	pixels = 64
	batch  = 128
)

// A linear layer computes x @ Weight + Bias.
type linear struct{ Weight, Bias *polygrad.Tensor }

func newLinear(in, out int) linear {
	return linear{polygrad.KaimingNormal([]int{out, in}).T().Contiguous(), polygrad.Zeros([]int{out})}
}

func (l linear) forward(x *polygrad.Tensor) *polygrad.Tensor {
	return x.Linear(l.Weight, polygrad.WithBias(l.Bias))
}

// A reader has a score for each digit.
type reader struct{ Layers []linear }

func newReader(hidden int) *reader {
	return &reader{[]linear{newLinear(pixels, hidden), newLinear(hidden, hidden), newLinear(hidden, 10)}}
}

func (r *reader) forward(x *polygrad.Tensor) *polygrad.Tensor {
	for i, l := range r.Layers {
		if x = l.forward(x); i < len(r.Layers)-1 {
			x = x.ReLU()
		}
	}
	return x
}

// digits are pixels from 0 to 1 and the digits that they show.
type digits struct {
	pixels []float32
	labels []int32
}

func (d *digits) len() int { return len(d.labels) }

// take are some of the digits as tensors.
func (d *digits) take(which []int) (x, y *polygrad.Tensor) {
	var some digits
	for _, i := range which {
		some.pixels = append(some.pixels, d.pixels[i*pixels:(i+1)*pixels]...)
		some.labels = append(some.labels, d.labels[i])
	}
	return polygrad.From(some.pixels, len(which), pixels), polygrad.From(some.labels)
}

func load(path string) (*digits, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	d := &digits{}
	for rows := csv.NewReader(text); ; {
		row, err := rows.Read()
		if err == io.EOF {
			return d, nil
		}
		if err != nil {
			return nil, err
		}
		for i, word := range row {
			n, err := strconv.Atoi(word)
			if err != nil {
				return nil, err
			}
			if i < pixels {
				d.pixels = append(d.pixels, float32(n)/16)
			} else {
				d.labels = append(d.labels, int32(n))
			}
		}
	}
}

// train fits a network to the digits with these numbers.
func train(r *reader, d *digits, which []int, epochs int, shuffle *rand.Rand) error {
	optimizer, err := polygrad.NewAdamW(polygrad.Parameters(r), 2e-3, polygrad.AdamOptions{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, WeightDecay: 0.5})
	if err != nil {
		return err
	}
	// Forward pass, backward pass and update are one compiled program.
	x, y := d.take(which[:batch])
	step, err := polygrad.Compile(func(args ...*polygrad.Tensor) ([]*polygrad.Tensor, error) {
		optimizer.ZeroGrad()
		loss := r.forward(args[0]).CrossEntropy(args[1]).Backward()
		return []*polygrad.Tensor{loss}, optimizer.Step()
	}, x, y)
	if err != nil {
		return err
	}
	for epoch := 1; epoch <= epochs; epoch++ {
		shuffle.Shuffle(len(which), func(i, j int) { which[i], which[j] = which[j], which[i] })
		var loss float64
		for i := 0; i+batch <= len(which); i += batch {
			out, err := step.Run(d.take(which[i : i+batch]))
			if err != nil {
				return err
			}
			if loss, err = out[0].Item(); err != nil {
				return err
			}
		}
		if epoch%10 == 0 || epoch == epochs {
			fmt.Printf("epoch %d: loss %.4f\n", epoch, loss)
		}
	}
	return nil
}

// accuracy is the share of the digits that a network classifies correctly.
func accuracy(r *reader, d *digits, which []int) (float64, error) {
	x, y := d.take(which)
	return r.forward(x).ArgMax(polygrad.WithAxis(1)).Eq(y).Mean().Item()
}

func run() error {
	data := flag.String("data", "examples/data/digits.csv.gz", "the digits")
	epochs := flag.Int("epochs", 40, "how often each digit is seen")
	seed := flag.Uint64("seed", 42, "of weights and order")
	flag.Parse()
	d, err := load(*data)
	if err != nil {
		return err
	}
	polygrad.Default().Seed(*seed)
	shuffle := rand.New(rand.NewPCG(*seed, 0))
	which := shuffle.Perm(d.len())
	held := d.len() / 5
	r := newReader(256)
	if err := train(r, d, which[held:], *epochs, shuffle); err != nil {
		return err
	}
	right, err := accuracy(r, d, which[:held])
	if err != nil {
		return err
	}
	fmt.Printf("%.1f %% of the %d held-back digits are read right\n", 100*right, held)
	return nil
}

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}
