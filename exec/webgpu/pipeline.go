package webgpu

import (
	"fmt"
	"runtime"
	"slices"
	"sync"

	"polygrad/render/wgsl"
)

// pipeline is a shader on an adapter, with the bind groups of its last launches.
type pipeline struct {
	a      *adapter
	object object
	kernel *wgsl.Kernel // whose shader it is, nil for others
	groups *groups
}

// part is a part of a block.
type part struct {
	of           *block
	offset, size int64
}

// group is a bind group, with the parts that it binds.
type group struct {
	parts  []part
	object object
}

// groups are the bind groups of a pipeline, the one used last at the end. They outlive it until its cleanup has run.
type groups struct {
	mu  sync.Mutex
	all []group
}

// keptGroups are the bind groups that a pipeline keeps: a kernel of a program that runs again has the same buffers, or one of a few sets.
const keptGroups = 16

// pipeline makes a pipeline of a shader.
func (a *adapter) pipeline(s shader) (*pipeline, error) {
	a.compiling.RLock()
	o, err := a.compile(s)
	a.compiling.RUnlock()
	if err != nil && !a.lost() { // maybe that of another shader
		a.compiling.Lock()
		o, err = a.compile(s)
		a.compiling.Unlock()
	}
	if err != nil {
		return nil, err
	}
	a.counts.pipelines.Add(1)
	p := &pipeline{a: a, object: o, groups: &groups{}}
	runtime.AddCleanup(p, func(g *groups) {
		for _, x := range g.all {
			a.ungroup(x.object)
		}
		a.drop(o)
	}, p.groups)
	return p, nil
}

// launch records a launch of x times y workgroups on parts of blocks.
func (p *pipeline) launch(list object, parts []part, x, y int64) {
	a, g := p.a, p.groups
	a.counts.launches.Add(1)
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := len(g.all) - 1; i >= 0; i-- {
		if known := g.all[i]; slices.Equal(known.parts, parts) {
			copy(g.all[i:], g.all[i+1:])
			g.all[len(g.all)-1] = known
			a.launch(list, p.object, known.object, x, y)
			return
		}
	}
	bindings := make([]binding, len(parts))
	for i, b := range parts {
		bindings[i] = binding{b.of.object, b.of.offset + b.offset, b.size}
	}
	a.counts.groups.Add(1)
	a.counts.bindings.Add(int64(len(bindings)))
	made := group{slices.Clone(parts), a.group(p.object, bindings)}
	if len(g.all) == keptGroups {
		a.ungroup(g.all[0].object)
		g.all = slices.Delete(g.all, 0, 1)
	}
	g.all = append(g.all, made)
	a.launch(list, p.object, made.object, x, y)
}

// folded arranges workgroups in two dimensions, as the size of one is limited.
func (a *adapter) folded(groups int64) (x, y int64) {
	x = max(min(groups, a.limits.dispatch), 1)
	return x, (groups + x - 1) / x
}

// copier is the pipeline that copies parts of one buffer.
func (a *adapter) copier() (*pipeline, error) {
	a.copying.Lock()
	defer a.copying.Unlock()
	if a.copies == nil {
		p, err := a.pipeline(shader{source: wgsl.Copy, buffers: 2})
		if err != nil {
			return nil, fmt.Errorf("webgpu: copies within a buffer: %w", err)
		}
		a.copies = p
	}
	return a.copies, nil
}
