package webgpu

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"time"
	"unsafe"

	"polygrad/exec/device"
	"polygrad/render/wgsl"
)

// Here the library is a module of WebAssembly, and its host has WebGPU. Commands are words in memory, a list of which the host performs at
// once: on the library's own thread, or on another one that shares the memory. Objects have numbers of our choice, so no command has an answer.

// hostOpen writes the limits of the host's device, in the order of hostLimits, and its name, as much of that as there is room for. The result is
// the number of the device, or 0 if there is none.
//
//go:noescape
//go:wasmimport polygrad gpu_open
func hostOpen(limits, name unsafe.Pointer, room uint32) (gpu int32)

// hostPerform performs commands, or lets another thread do so: then their memory is read until hostPerformed has reached the result. If wait
// is set it returns when they have been performed.
//
//go:noescape
//go:wasmimport polygrad gpu_perform
func hostPerform(gpu int32, commands unsafe.Pointer, words uint32, wait int32) (number int32)

// hostPerformed is the number of the last commands that were performed.
//
//go:noescape
//go:wasmimport polygrad gpu_performed
func hostPerformed() (number int32)

// hostWait waits until all that was submitted is done. The result is 0, or 1 after an error.
//
//go:noescape
//go:wasmimport polygrad gpu_wait
func hostWait(gpu int32) (failed int32)

// hostRead waits and copies parts of a buffer for reading: words are for each part its offset, its size in bytes, and the address that it goes
// to. The result is 0, or 1 after an error.
//
//go:noescape
//go:wasmimport polygrad gpu_read
func hostRead(gpu, buffer int32, parts unsafe.Pointer, words uint32) (failed int32)

// hostFetch lets the host copy the first bytes of a buffer for reading to an address when it has them, and then tell the program the result. The
// buffer may be freed at once.
//
//go:noescape
//go:wasmimport polygrad gpu_fetch
func hostFetch(gpu, buffer int32, at unsafe.Pointer, bytes uint32) (number int32)

// hostLost is 1 if the device is gone.
//
//go:noescape
//go:wasmimport polygrad gpu_lost
func hostLost(gpu int32) int32

// hostLose gives the device up.
//
//go:noescape
//go:wasmimport polygrad gpu_lose
func hostLose(gpu int32)

// hostError writes the text of what failed last, as much as there is room for, and returns how long it is.
//
//go:noescape
//go:wasmimport polygrad error
func hostError(text unsafe.Pointer, room uint32) (bytes uint32)

func hostFailure() error {
	text := make([]byte, 1<<12)
	n := hostError(unsafe.Pointer(unsafe.SliceData(text)), uint32(len(text)))
	return errors.New(string(text[:min(int(n), len(text))]))
}

// hostLimits are the limits of the host's device; f16, subgroups and isCPU are 1 if it has these features, or is a processor.
type hostLimits struct {
	buffers, dispatch, allocation, bindable, alignment, shared, invocations, width float64
	f16, subgroups, isCPU                                                          float64
}

// The commands, by their first word. Numbers of objects and sizes follow, each a word.
const (
	allocateBuffer  = iota // buffer, bytes, use
	freeBuffer             // buffer
	writeBuffer            // buffer, offset, bytes, the words
	writeMemory            // buffer, offset, bytes, address
	compilePipeline        // pipeline, buffers, uniform, bytes of the text, its words
	dropPipeline           // pipeline
	makeGroup              // group, pipeline, bindings; of each: buffer, offset, bytes
	dropGroup              // group
	launchGroup            // pipeline, group, x, y
	copyBuffer             // buffer, offset, buffer, offset, bytes
	submitList
	adoptBuffer  // buffer, its number by the host
	forgetBuffer // buffer
)

const (
	// mostInline is the greatest number of bytes that are copied into the commands. Longer data is read in place while the caller waits.
	mostInline = 1 << 16
	// mostCommands is how many words are collected.
	mostCommands = 1 << 16
)

// host is a driver that calls the host's WebGPU. All methods run on the one thread that there is.
type host struct {
	gpu      int32
	commands []uint32
	lists    map[object][]uint32
	last     object   // the number of the last object
	idle     []object // numbers that are used again
	ended    []ended  // while lists are recorded, which may use them
	// sent are commands that another thread may be reading.
	sent []sent
}

type sent struct {
	number int32
	words  []uint32
}

// ended is an object that was given up, and the command that ends it.
type ended struct {
	command uint32
	object  object
}

// New opens the host's device.
func New() (device.Device, error) { return newDevice(openHost) }

func openHost() (driver, limits, error) {
	var l hostLimits
	name := make([]byte, 256)
	gpu := hostOpen(unsafe.Pointer(&l), unsafe.Pointer(unsafe.SliceData(name)), uint32(len(name)))
	if gpu == 0 {
		return nil, limits{}, fmt.Errorf("webgpu.New: %w", hostFailure())
	}
	kind := "unknown"
	if l.isCPU != 0 {
		kind = "cpu"
	}
	return &host{gpu: gpu, lists: map[object][]uint32{}}, limits{
		name: strings.TrimRight(string(name), "\x00"), kind: kind, buffers: int64(l.buffers), dispatch: int64(l.dispatch),
		allocation: min(int64(l.allocation), math.MaxUint32&^3), bindable: min(int64(l.bindable), math.MaxUint32) &^ 3, alignment: int64(l.alignment),
		invocations: int64(min(l.invocations, l.width)), shared: int64(l.shared), f16: l.f16 != 0, subgroups: l.subgroups != 0,
	}, nil
}

// number is the number of a new object.
func (h *host) number() object {
	if n := len(h.idle); n > 0 {
		o := h.idle[n-1]
		h.idle = h.idle[:n-1]
		return o
	}
	h.last++
	return h.last
}

// command adds a command.
func (h *host) command(words ...uint32) {
	h.commands = append(h.commands, words...)
	if len(h.commands) > mostCommands {
		h.perform(false)
	}
}

// perform sends what was collected.
func (h *host) perform(wait bool) {
	if len(h.commands) == 0 {
		return
	}
	w := int32(0)
	if wait {
		w = 1
	}
	n := hostPerform(h.gpu, unsafe.Pointer(unsafe.SliceData(h.commands)), uint32(len(h.commands)), w)
	h.sent = append(h.sent, sent{n, h.commands})
	h.commands = nil
	for done := hostPerformed(); len(h.sent) > 0 && h.sent[0].number-done <= 0; h.sent = h.sent[1:] {
		h.commands = h.sent[0].words[:0]
	}
}

func (h *host) allocate(bytes int64, u use) (object, error) {
	o := h.number()
	h.command(allocateBuffer, uint32(o), uint32(bytes), uint32(u))
	return o, nil
}

// end gives an object up.
func (h *host) end(command uint32, o object) {
	h.ended = append(h.ended, ended{command, o})
	h.endAll()
}

// endAll ends the objects that were given up, unless lists are recorded.
func (h *host) endAll() {
	if len(h.lists) > 0 {
		return
	}
	for _, e := range h.ended {
		h.command(e.command, uint32(e.object))
		h.idle = append(h.idle, e.object)
	}
	h.ended = h.ended[:0]
}

func (h *host) free(buffer object) { h.end(freeBuffer, buffer) }

// lend lets the host know the buffer by its number.
func (h *host) lend(buffer object) uintptr {
	h.perform(false)
	return uintptr(buffer)
}

func (h *host) adopt(buffer uintptr, _ int64) (object, error) {
	o := h.number()
	h.command(adoptBuffer, uint32(o), uint32(buffer))
	return o, nil
}

func (h *host) usable(object) error { return nil }

// isGiven: the host knows its devices itself.
func (h *host) isGiven(uintptr) bool { return true }

func (h *host) forget(buffer object) { h.end(forgetBuffer, buffer) }

func (h *host) write(to object, offset int64, from []byte) {
	if len(from) > mostInline {
		at := uintptr(unsafe.Pointer(unsafe.SliceData(from)))
		h.commands = append(h.commands, writeMemory, uint32(to), uint32(offset), uint32(len(from)), uint32(at))
		h.perform(true)
		return
	}
	h.commands = append(h.commands, writeBuffer, uint32(to), uint32(offset))
	h.bytes(from)
	h.command()
}

// bytes adds a number of bytes, and these as words.
func (h *host) bytes(b []byte) {
	h.commands = append(h.commands, uint32(len(b)))
	for ; len(b) >= 4; b = b[4:] {
		h.commands = append(h.commands, binary.LittleEndian.Uint32(b))
	}
	if len(b) > 0 {
		var word [4]byte
		copy(word[:], b)
		h.commands = append(h.commands, binary.LittleEndian.Uint32(word[:]))
	}
}

// compile lets the host make a pipeline at once, before its first launch asks for it. An error is that of the next wait.
func (h *host) compile(s shader) (object, error) {
	o, u := h.number(), uint32(0)
	if s.uniform {
		u = 1
	}
	h.commands = append(h.commands, compilePipeline, uint32(o), uint32(s.buffers), u)
	h.bytes([]byte(wgsl.Enabled(s.source)))
	h.perform(false)
	return o, nil
}

func (h *host) drop(pipeline object) { h.end(dropPipeline, pipeline) }

func (h *host) group(pipeline object, bindings []binding) object {
	o := h.number()
	h.commands = append(h.commands, makeGroup, uint32(o), uint32(pipeline), uint32(len(bindings)))
	for _, b := range bindings {
		h.commands = append(h.commands, uint32(b.buffer), uint32(b.offset), uint32(b.size))
	}
	return o
}

func (h *host) ungroup(group object) { h.end(dropGroup, group) }

func (h *host) begin(bool) object {
	o := h.number()
	h.lists[o] = nil
	return o
}

func (h *host) launch(list, pipeline, group object, x, y int64) {
	h.lists[list] = append(h.lists[list], launchGroup, uint32(pipeline), uint32(group), uint32(x), uint32(y))
}

func (h *host) copy(list, to object, toOffset int64, from object, fromOffset, bytes int64) {
	h.lists[list] = append(h.lists[list], copyBuffer, uint32(to), uint32(toOffset), uint32(from), uint32(fromOffset), uint32(bytes))
}

func (h *host) submit(list object) bool {
	h.commands = append(append(h.commands, h.lists[list]...), submitList)
	delete(h.lists, list)
	h.idle = append(h.idle, list)
	h.perform(false)
	h.endAll()
	return false
}

func (h *host) took() (time.Duration, bool) { return 0, false }

func (h *host) wait() error {
	h.perform(false)
	if hostWait(h.gpu) != 0 {
		return hostFailure()
	}
	return nil
}

func (h *host) read(buffer object, parts [][]byte, offsets []int64) error {
	h.perform(false)
	words := make([]uint32, 0, 3*len(parts))
	for i, p := range parts {
		words = append(words, uint32(offsets[i]), uint32(len(p)), uint32(uintptr(unsafe.Pointer(unsafe.SliceData(p)))))
	}
	failed := hostRead(h.gpu, int32(buffer), unsafe.Pointer(unsafe.SliceData(words)), uint32(len(words)))
	runtime.KeepAlive(parts)
	if failed != 0 {
		return hostFailure()
	}
	return nil
}

func (h *host) fetch(buffer object, to []byte) int32 {
	h.perform(false)
	return hostFetch(h.gpu, int32(buffer), unsafe.Pointer(unsafe.SliceData(to)), uint32(len(to)))
}

func (h *host) lost() bool { return hostLost(h.gpu) != 0 }

func (h *host) lose() { hostLose(h.gpu) }

var (
	_ driver  = (*host)(nil)
	_ fetcher = (*host)(nil)
)
