package variable

import (
	"encoding/binary"
	"unsafe"

	"polygrad/core/tensor"
	"polygrad/core/uop"
)

// A region is strided memory; strides are in bytes.
type region struct {
	data    unsafe.Pointer
	strides []int64
}

// regionOf is the region of a view of a leaf, if strides describe it.
func regionOf(node, base *uop.UOp, m *memory) (r region, ok bool) {
	strides, offset, ok, err := tensor.ViewLayout(node, base)
	if err != nil || !ok || m == nil || len(strides) != len(node.Shape()) {
		return r, false
	}
	item := int64(node.DType.Itemsize())
	for i := range strides {
		strides[i] *= item
	}
	return region{unsafe.Add(m.data, offset*item), strides}, true
}

// copyTo writes a view of a computed tensor, whose memory is m, on the host: a compiled program would contain the index and the number,
// so each would compile another one. It reports false if the new elements are neither a number nor those of a computed tensor, or if they or the old ones
// are on a device.
func (v *Variable) copyTo(m *memory, to *value) (done bool, err error) {
	node := v.Node()
	sizes, fixed := node.Shape().Ints()
	if !fixed || m == nil || m.onDevice() {
		return false, nil
	}
	if _, err := m.bytes(); err != nil {
		return false, err
	}
	dst, ok := regionOf(node, v.cell.value.node, m)
	if !ok {
		return false, nil
	}
	defer func() {
		if done {
			_, err = m.change()
		}
	}()
	item := node.DType.Itemsize()
	leaf := to
	for !leaf.leaf && len(leaf.from) == 1 {
		leaf = leaf.from[0]
	}
	base := to.node
	for base.Op == uop.Expand || base.Op == uop.Reshape || base.Op == uop.Detach {
		base = base.Src[0]
	}
	switch {
	case base.Op == uop.ConstOp:
		var number [8]byte
		binary.LittleEndian.PutUint64(number[:], base.Arg.(uop.Const).Bits(node.DType))
		src := region{unsafe.Pointer(&number), make([]int64, len(sizes))}
		copyRegion(dst, src, sizes, item)
		return true, nil
	case leaf.leaf && leaf.mem != nil && leaf.mem != m && leaf.mem != v.cell.value.mem && to.node.Base() == leaf.node.Base() && !leaf.mem.onDevice():
		if _, err := leaf.mem.bytes(); err != nil {
			return false, err
		}
		src, ok := broadcastRegion(to.node, leaf)
		if ok {
			copyRegion(dst, src, sizes, item)
		}
		return ok, nil
	}
	return false, nil
}

// broadcastRegion is the region of a broadcast view of a leaf, with strides of 0 along expanded axes.
func broadcastRegion(node *uop.UOp, leaf *value) (r region, ok bool) {
	if node.Op == uop.Detach {
		return broadcastRegion(node.Src[0], leaf)
	}
	if node.Op != uop.Expand {
		return regionOf(node, leaf.node, leaf.mem)
	}
	r, ok = broadcastRegion(node.Src[0], leaf)
	ok = ok && len(r.strides) == len(node.Shape())
	if ok {
		for i, d := range node.Src[0].Shape() {
			if d.IsNum(1) {
				r.strides[i] = 0
			}
		}
	}
	return r, ok
}

// copyRegion copies elements of a number of bytes between regions that do not overlap.
func copyRegion(dst, src region, sizes []int64, item int) {
	if len(sizes) == 0 {
		copy(unsafe.Slice((*byte)(dst.data), item), unsafe.Slice((*byte)(src.data), item))
		return
	}
	n, to, from := sizes[0], dst.strides[0], src.strides[0]
	if len(sizes) == 1 && to == int64(item) && from == to {
		copy(unsafe.Slice((*byte)(dst.data), n*to), unsafe.Slice((*byte)(src.data), n*to))
		return
	}
	for i := range n {
		a, b := unsafe.Add(dst.data, i*to), unsafe.Add(src.data, i*from)
		if len(sizes) > 1 {
			copyRegion(region{a, dst.strides[1:]}, region{b, src.strides[1:]}, sizes[1:], item)
			continue
		}
		switch item {
		case 1:
			*(*uint8)(a) = *(*uint8)(b)
		case 2:
			*(*uint16)(a) = *(*uint16)(b)
		case 4:
			*(*uint32)(a) = *(*uint32)(b)
		case 16:
			*(*[2]uint64)(a) = *(*[2]uint64)(b)
		default:
			*(*uint64)(a) = *(*uint64)(b)
		}
	}
}
