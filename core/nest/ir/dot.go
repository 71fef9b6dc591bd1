package ir

// Dot products of narrow numbers, for processors with instructions that multiply two BF16 and add them to an F32, or four bytes
// to an I32. Operands are packed into words of 32 bits, each with two or four numbers that are consecutive along the sum.

const (
	// DotBlock is how many rows or columns a block has, and how many words a row has in a step of the sum.
	DotBlock = 16
	// DotWords is the number of words of a block in a step.
	DotWords = DotBlock * DotBlock
	WordSize = 4
)

// Dot is the effect C = A*B, or C += A*B (More), summed over Steps: Rows blocks of 16 rows by Cols blocks of 16 columns.
//
// Steps of A are AStep words apart. A step has ABlocks blocks for each of Terms terms, and a block has 16 rows of 16 words.
// Steps of B are BStep words apart; a block of B is word-major: word w of all its 16 columns, then word w+1. Word w of a row of A
// is multiplied with word w of a column of B. C has rows of CRow elements.
type Dot struct {
	// Kind and BKind are the types of the elements of A (BF16, I8 or U8) and B. C is F32 or I32.
	Kind, BKind Kind
	// Bias is subtracted from each number of A.
	Bias       int32
	C, A, B    *Place
	Rows, Cols int
	// Terms is the number of packed numbers whose sum is one element. With 3 (an F32 split into three BF16), terms i of A and j of B
	// are multiplied if i+j < 3: the others are below the precision of F32.
	Terms        int
	ABlocks      int // blocks in a term of A
	BBlocks      int
	Steps        int64
	CRow         int64
	AStep, BStep int64
	// AStreams and BStreams: the operand streams through while the other one should stay in L1.
	AStreams, BStreams bool
	// More: the accumulators begin with the contents of C, not with 0.
	More bool
	Pos  int // its position among the effects of the kernel
}

// Per is the number of elements in a word.
func (d *Dot) Per() int64 { return PerWord(d.Kind) }

func PerWord(k Kind) int64 { return 4 / k.Size() }

// Dot appends a dot product to the block Cur.
func (b *Builder) Dot(d *Dot) {
	d.Pos = b.nextPos()
	b.Cur.Items = append(b.Cur.Items, Item{Dot: d})
}
