// Gpt2 generates text with the shapes of GPT-2 on a GPU, in one submit per token.
//
//	POLY_WEBGPU=libwgpu_native.so go run ./examples/gpt2          a small one, for a first look
//	POLY_WEBGPU=libwgpu_native.so go run ./examples/gpt2 -full    the shapes of the smallest GPT-2: 124 million weights, on an adapter
//	                                                              that binds buffers of 154 MB (lavapipe: 134)
//	go run ./examples/gpt2 -device native                         the same without a GPU
//
// The weights are random, so the text is meaningless. The program shows the cost of a token: weights and the cache of keys and values
// stay on the device, the token is copied in, and the logits are copied out.
package main

import (
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"slices"
	"time"

	"polygrad/exec"
	"polygrad/model"
)

var (
	small = model.GPT2Config{Vocab: 512, Embd: 64, Head: 4, Layer: 3, MaxSeq: 128, NormEps: 1e-5}
	full  = model.GPT2Config{Vocab: 50257, Embd: 768, Head: 12, Layer: 12, MaxSeq: 1024, NormEps: 1e-5}
)

func main() {
	device := flag.String("device", "webgpu", "what computes")
	tokens := flag.Int("tokens", 32, "how many tokens are written")
	whole := flag.Bool("full", false, "the shapes of GPT-2, 124 million weights")
	flag.Parse()
	config := small
	if *whole {
		config = full
	}
	if err := run(*device, config, *tokens); err != nil {
		log.Fatal(err)
	}
}

func run(device string, config model.GPT2Config, tokens int) error {
	if tokens < 1 || int64(tokens) >= config.MaxSeq {
		return fmt.Errorf("tokens: %d, expected 1 to %d", tokens, config.MaxSeq-1)
	}
	e, err := exec.Open(device)
	if err != nil {
		return err
	}
	m, err := model.NewGPT2(e, config, 1)
	if err != nil {
		return err
	}
	defer m.Free()
	weights := fill(m)
	g, err := m.NewGenerator(1)
	if err != nil {
		return err
	}
	defer g.Free()
	if err := g.SetSampling(model.Sampling{Temperature: 1, TopP: 1, Seed: 1}); err != nil {
		return err
	}
	if err := g.Feed([][]int32{{1}}); err != nil {
		return err
	}
	var costs []exec.Counts
	var times []time.Duration
	var text []int32
	before, counted := e.Counts()
	for range tokens {
		start, token := time.Now(), make([]int32, 1)
		if err := g.Next(token); err != nil {
			return err
		}
		text, times = append(text, token[0]), append(times, time.Since(start))
		now, _ := e.Counts()
		costs = append(costs, now.Minus(before))
		before = now
	}
	fmt.Printf("%d weights, %d layers of width %d, on %s\n", weights, config.Layer, config.Embd, e.Device().Name())
	fmt.Printf("tokens: %v\n", text)
	slices.Sort(times)
	fmt.Printf("%v a token, %v the first one\n", times[len(times)/2].Round(time.Microsecond), times[len(times)-1].Round(time.Microsecond))
	if counted {
		c := costs[len(costs)-1]
		fmt.Printf("the last token: %d submit, %d launches, %d wait, %d bytes to the device, %d bytes from it\n", c.Submits, c.Launches, c.Waits, c.In, c.Out)
	}
	return nil
}

// fill gives the model random weights, matrices from GPT-2's initial distribution, and counts them.
func fill(m *model.Instance) (weights int) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, p := range m.Params() {
		weights += len(p.Data)
		if len(p.Shape) == 1 { // scales and shifts of normalisation, biases
			for i := range p.Data {
				p.Data[i] = float32(1 + 0.02*r.NormFloat64())
			}
			continue
		}
		for i := range p.Data {
			p.Data[i] = float32(0.02 * r.NormFloat64())
		}
	}
	return weights
}
