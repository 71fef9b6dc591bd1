package nest

import "encoding/binary"

// placeID numbers the places that are equal but for Off.
func (b *Builder) placeID(p *Place) int32 {
	key := binary.AppendVarint(nil, int64(p.Buf.ID))
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
	return b.numbered(string(key))
}

// numbered is the number of a key, one for each that there is.
func (b *Builder) numbered(key string) int32 {
	id, ok := b.places[key]
	if !ok {
		id = int32(len(b.places) + 1)
		b.places[key] = id
	}
	return id
}

// nextPos numbers the effects of the kernel.
func (b *Builder) nextPos() int {
	b.pos++
	return b.pos
}
