package asm

// row is one way to encode an operation. An operation that takes its operands in several ways has several rows; the
// first that fits is used.
type row struct {
	op       Op
	mnemonic string
	shape    shape
	prefix   prefix
	code     byte
	traits   traits
}

// prefix is the mandatory prefix and the map of an opcode.
type prefix uint8

const (
	pNone = iota << 3
	p66x
	pF3x
	pF2x
)

// The maps: none, 0F, 0F 38, 0F 3A, 5 and 6, below the prefix.
const (
	p00     prefix = pNone
	p66     prefix = p66x
	p0F     prefix = pNone | 1
	p660F   prefix = p66x | 1
	pF30F   prefix = pF3x | 1
	pF20F   prefix = pF2x | 1
	p0F38   prefix = pNone | 2
	p660F38 prefix = p66x | 2
	pF30F38 prefix = pF3x | 2
	pF20F38 prefix = pF2x | 2
	p660F3A prefix = p66x | 3
	pMap5   prefix = pNone | 5
)

func (p prefix) opmap() byte { return byte(p & 7) }

// mandatory is 0 for none, 1 for 66, 2 for F3, 3 for F2: the pp of VEX and EVEX.
func (p prefix) mandatory() byte { return byte(p >> 3) }

// traits are the further properties of a row.
type traits uint64

const (
	leg       traits = 1 << iota // has an encoding without VEX
	vex                          // has a VEX encoding
	evex                         // has an EVEX encoding
	w                            // EVEX.W
	vw                           // VEX.W, REX.W (shapes with kindG have it by their Size)
	l1                           // VEX.L whatever Size is
	sib                          // Mem has a SIB byte always
	noReg                        // ModRM.rm is always memory
	vsib                         // Mem.Index is a vector
	fixed                        // no operands, but a ModRM byte
	branch                       // to Inst.To
	pseudo                       // no instruction
	readsDst                     // Dst is read, too
	setsFlags                    // changes the flags
	usesFlags                    // depends on the flags
	selects                      // Mask chooses between two sources
	noMask                       // EVEX without Mask
	min32                        // Size is 32 at least
	min64                        // Size is 64

	lv  = leg | vex
	ve  = vex | evex
	lve = leg | vex | evex
)

// What Mem reads or writes: so many bytes, or Size of general registers (memG), of vectors or a part of it.
const (
	mem1 traits = (iota + 1) << 24
	mem2
	mem4
	mem8
	mem16
	mem32
	memAny
	memG
	memV
	memH
	memF
	memDup // 8 bytes of a vector of 16, else all

	memBits traits = 15 << 24
)

// The element that Mem may be a broadcast of.
const (
	bcast2 traits = (iota + 1) << 28
	bcast4
	bcast8

	bcastBits traits = 3 << 28
)

// What becomes of Imm.
const (
	imm8 traits = (iota + 1) << 32
	imm16
	imm32
	imm8or32 // 8 bits, by the opcode with bit 1 set, or 32
	imm64    // as many as it takes
	immShift // 8 bits, or none and bit 4 of the opcode set where it is 1

	immBits traits = 7 << 32
)

// The opcode's extension in ModRM.reg.
const (
	ext0 traits = iota << 36
	ext1
	ext2
	ext3
	ext4
	ext5
	ext6
	ext7
)

// Extension is what an operation needs beyond its level: SSE4.2; AVX2 with FMA, F16C and BMI2; or AVX-512 with F, BW, DQ
// and VL.
type Extension uint8

// The extensions of AVX-512, and the tiles.
const (
	VNNI Extension = iota + 1
	BF16
	FP16
	AMX
	AMXBF16
	AMXINT8
)

// The extensions as traits.
const (
	vnni   = traits(VNNI) << extShift
	bf16   = traits(BF16) << extShift
	fp16   = traits(FP16) << extShift
	amx    = traits(AMX) << extShift
	amxBF  = traits(AMXBF16) << extShift
	amxInt = traits(AMXINT8) << extShift

	extShift = 40
)

// elem is the size of the element that Mem may be a broadcast of, 0 if it may not.
func (t traits) elem() int { return 1 << (t & bcastBits >> 28) &^ 1 }

func (t traits) ext() byte { return byte(t >> 36 & 7) }

// memBytes is the number of bytes that Mem has in an instruction of that Size.
func (t traits) memBytes(size int) int {
	switch t & memBits {
	case mem1, mem2, mem4, mem8, mem16, mem32:
		return 1 << (t&memBits>>24 - 1)
	case memH:
		return size / 2
	case memF:
		return size / 4
	case memDup:
		if size == 16 {
			return 8
		}
	case memAny:
		return 0
	}
	return size
}

// scale is the unit of the 8-bit displacement of EVEX, in bytes.
func (t traits) scale(size int, bcast bool) int {
	if bcast {
		return t.elem()
	}
	return t.memBytes(size)
}

// form is the signature of a row's operands in an Inst, their register classes: reg with a register as ModRM.rm, mem with memory; 0 if that is
// impossible.
type form struct {
	reg, mem uint16
	// sizes has sizeG and sizeV set if the row's encoding depends on Size as that of general registers or vectors, and
	// masks if it has mask registers.
	sizes uint8
}

const (
	sizeG = 1 << iota
	sizeV
	masks
)

// rows are all rows, those of an operation one after the other from starts[op] to ends[op].
var (
	rows         []row
	forms        []form
	starts, ends [numOps]uint16
	props        [numOps]traits
)

const hasMem = 1 << 12

func init() {
	tables := [][]row{tableGeneral, conditional(), tableFloat, fused(), tableMove, tableShuffle, tableConvert, tableInteger, tableMask}
	n := 0
	for _, t := range tables {
		n += len(t)
	}
	rows, forms = make([]row, 0, n), make([]form, 0, n)
	for _, t := range tables {
		for i := range t {
			r := &t[i]
			if ends[r.op] == 0 {
				starts[r.op] = uint16(len(rows))
			}
			rows, forms = append(rows, *r), append(forms, r.form())
			ends[r.op] = uint16(len(rows))
			f := &forms[len(forms)-1]
			props[r.op] |= r.traits & (branch | pseudo | readsDst | setsFlags | usesFlags | selects | vsib)
			if f.mem != 0 && shapes[r.shape][0].place == inRM {
				props[r.op] |= stores
			}
		}
	}
}

// stores is the trait that an operation can write memory, which is derived from its shapes.
const stores traits = 1 << 63

func (r *row) form() form {
	var f form
	if r.traits&(branch|pseudo) != 0 {
		return f
	}
	mem := uint16(0)
	for j, o := range shapes[r.shape] {
		if o.place == 0 {
			continue
		}
		c := uint16(o.class()) << (3 * j)
		f.reg |= c
		if o.place == inRM {
			mem = hasMem
		} else {
			f.mem |= c
		}
		switch o.kind {
		case kindG:
			f.sizes |= sizeG
		case kindV, kindH, kindF:
			f.sizes |= sizeV
		case kindK:
			f.sizes |= masks
		}
	}
	f.mem |= mem
	if r.traits&memBits == 0 || mem == 0 {
		f.mem = 0
	}
	if r.traits&noReg != 0 {
		f.reg = 0
	}
	if r.shape == none {
		f.reg = noOperands
	}
	return f
}

// noOperands is the form of an instruction without operands.
const noOperands = 1 << 15

// form is the signature of the operands of i, as in the type form.
func (i *Inst) form() uint16 {
	f := uint16(i.Dst.Class()) | uint16(i.Src[0].Class())<<3 | uint16(i.Src[1].Class())<<6 | uint16(i.Src[2].Class())<<9
	if !i.Mem.None() {
		f |= hasMem
	}
	if f == 0 {
		return noOperands
	}
	return f
}
