package ir

import "encoding/binary"

// placeID numbers the places that are equal but for Off.
func (b *Builder) placeID(p *Place) int32 {
	key := binary.AppendVarint(b.key[:0], int64(p.Buf.ID))
	key = binary.AppendVarint(key, p.Stride)
	for _, v := range []*Value{p.Index, p.Gate} {
		if v == nil {
			key = append(key, 0)
		} else {
			key = binary.AppendVarint(key, int64(v.ID))
		}
	}
	for _, t := range p.Terms {
		key = binary.AppendVarint(key, int64(t.V.ID))
		key = binary.AppendVarint(key, t.Coef)
	}
	b.key = key
	return b.numbered(key)
}

// numbered is the number of a key, one for each that there is.
func (b *Builder) numbered(key []byte) int32 {
	id, ok := b.places[string(key)]
	if !ok {
		id = int32(len(b.places) + 1)
		b.places[string(key)] = id
	}
	return id
}

// nextPos numbers the effects of the kernel.
func (b *Builder) nextPos() int {
	b.pos++
	return b.pos
}
