package wasm

import (
	"strconv"

	"polygrad/core/nest/ir"
	"polygrad/core/uop"
	"polygrad/render/wasm/binary"
)

// Copy is a whole kernel without arithmetic: it copies so many bytes from its second buffer to its first.
func Copy(bytes int64) *Kernel {
	k := &Kernel{Name: "copy_" + strconv.FormatInt(bytes, 10), Items: 1, whole: true, Params: []ir.Param{
		{DType: uop.Uint8, Slot: 0, Size: bytes, Written: true}, {DType: uop.Uint8, Slot: 1, Size: bytes, Read: true},
	}}
	k.build = func(c *binary.Code) {
		c.Get(0)
		c.Get(1)
		c.I32(int32(uint32(bytes)))
		c.MemoryCopy()
	}
	return k
}
