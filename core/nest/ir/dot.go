package ir

// Sums of products of narrow numbers, which some processors have instructions for: two BF16 are multiplied and added
// to an F32 at a time, or four bytes to an I32. An operand is kept packed, in words of 32 bits that hold two or four of
// its numbers that follow each other along the sum.

const (
	// DotBlock is how many rows or columns a block has, and how many words a row has in a step of the sum.
	DotBlock = 16
	// DotWords is the number of words of a block in a step.
	DotWords = DotBlock * DotBlock
	WordSize = 4
)

// Dot is the effect C = sum over Steps of A times B, or C + that: Rows blocks of 16 rows by Cols blocks of 16 columns.
//
// A step of A has, from one to the next AStep words apart, Terms times its blocks, and a block has 16 rows of 16 words.
// A step of B has them BStep words apart, and a block of it has 16 words for each of its 16 columns, those of the first
// words first. Word w of a row of A meets word w of a column of B. C has rows of CRow elements.
type Dot struct {
	// Kind and BKind are the types of the elements of A (BF16, I8 or U8) and B. C is F32 or I32.
	Kind, BKind Kind
	// Bias is subtracted from each number of A.
	Bias       int32
	C, A, B    *Place
	Rows, Cols int
	// Terms is how many numbers stand for one: with 3, number i of A and number j of B, from 0, are multiplied if i+j is
	// below 3, so that F32 split into three BF16 each are multiplied with the error of F32.
	Terms        int
	ABlocks      int // blocks in a term of A
	BBlocks      int
	Steps        int64
	CRow         int64
	AStep, BStep int64
	// AStreams and BStreams say that the operand goes by while the other one is to stay in the first cache.
	AStreams, BStreams bool
	// More: the accumulators begin with the contents of C, not with 0.
	More bool
	Pos  int // its place among the effects of the kernel
}

// Per is how many numbers a word has.
func (d *Dot) Per() int64 { return PerWord(d.Kind) }

func PerWord(k Kind) int64 { return 4 / k.Size() }

// Dot appends a sum of products to the block Cur.
func (b *Builder) Dot(d *Dot) {
	d.Pos = b.nextPos()
	b.Cur.Items = append(b.Cur.Items, Item{Dot: d})
}
