package ir

import "encoding/binary"

// placeID interns places without their Off.
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
	return b.internID(key)
}

// internID interns a key as an integer.
func (b *Builder) internID(key []byte) int32 {
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
