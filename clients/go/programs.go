// Package warner is the device half of warner in Go: it reads a survey, randomises answers of one
// person, keeps what must be kept, and sends. docs/device_programs.md defines what it does.
//
// All randomness is of the operating system. Every decision compares a word of 64 bits with integers
// that travel in the survey. Samplers: direct, bits, hash, subset, hadamard, permanent of these,
// and one_of. Whatever else a survey asks for is refused by name.
package warner

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"regexp"
)

// Refusal says why a survey, an answer or a person is refused. No message holds an answer.
type Refusal struct{ Code, Place, Rule string }

func (r *Refusal) Error() string { return fmt.Sprintf("%s: %s: %s.", r.Code, r.Place, r.Rule) }

// require ends a check; the function that is called from outside returns the refusal, by caught.
func require(holds bool, code, place, rule string) {
	if !holds {
		panic(&Refusal{code, place, rule})
	}
}

func caught(err *error) {
	if found := recover(); found != nil {
		refusal, is := found.(*Refusal)
		if !is {
			panic(found)
		}
		*err = refusal
	}
}

// words gives uniform integers of 64 bits. Tests list them; whatever is sent is drawn by systemWord.
type words func() uint64

func systemWord() uint64 {
	var word [8]byte
	if _, err := rand.Read(word[:]); err != nil {
		panic("the operating system gives no randomness")
	}
	return binary.LittleEndian.Uint64(word[:])
}

func below(next words, threshold uint64) bool { return next() < threshold }

func uniform(next words, bound uint64) uint64 {
	if bound == 1 {
		return 0
	}
	width, _ := bits.Div64(1, 0, bound)
	found := next() / width
	for found >= bound {
		found = next() / width
	}
	return found
}

// cell returns min(u / width, count) of a word u below count width + last, which is at most 2^64.
func cell(next words, width, count, last uint64) uint64 {
	total := count*width + last // 0 for 2^64, which no word reaches
	u := next()
	for total != 0 && u >= total {
		u = next()
	}
	if found := u / width; found < count {
		return found
	}
	return count
}

// Program is a device program whose integers were read and checked. It takes an index below Size.
type Program struct {
	Size         uint64
	data         object
	columns      []column
	length       int // of a record, in bytes
	odds         *big.Rat
	draw         func(index uint64, next words) []byte
	fresh        func(next words) []byte // a uniform report; nil for bits
	inside       uint64                  // of inside + outside reports, up to a factor, those that support a value
	outside      uint64
	likelier     *big.Rat // a report that supports the value to one that does not
	keep, raised uint64   // of bits
	Memo         *Program // of a report that is drawn once and kept
	degrade      func(memo []byte, next words) []byte
}

// Sample returns the record of one report on the answer with this index.
func (p *Program) Sample(index uint64) []byte { return p.draw(index, systemWord) }

type column struct {
	name   string
	width  int // of a number, in bytes
	length int
}

// numbers is a column of the integers 0..m-1.
func numbers(name string, m uint64) column {
	width := 8
	for _, small := range []int{4, 2, 1} {
		if m <= 1<<(8*small) {
			width = small
		}
	}
	return column{name, width, 1}
}

func (c column) append(record []byte, number uint64) []byte {
	for i := 0; i < c.width; i++ {
		record = append(record, byte(number>>(8*i)))
	}
	return record
}

// packed bits: the first one is the highest bit of the first byte.
func packed(ones []bool) []byte {
	record := make([]byte, (len(ones)+7)/8)
	for i, one := range ones {
		if one {
			record[i/8] |= 128 >> (i % 8)
		}
	}
	return record
}

// object is a JSON object, with its numbers as json.Number.
type object = map[string]any

// entries reads those of one object, and refuses it where one is left that nobody reads.
type entries struct {
	data  object
	place string
	read  map[string]bool
}

var hexadecimal = regexp.MustCompile(`^0x[1-9a-f][0-9a-f]*$`)
var decimal = regexp.MustCompile(`^(0|[1-9][0-9]{0,15})$`)
var safe = new(big.Int).Lsh(big.NewInt(1), 53)
var json1 = json.Number("1")
var one64 = new(big.Int).Lsh(big.NewInt(1), 64)

func (e *entries) integer(key string) *big.Int {
	e.read[key] = true
	found, right := new(big.Int), false
	switch value := e.data[key].(type) {
	case string:
		if hexadecimal.MatchString(value) {
			found.SetString(value[2:], 16)
			right = found.Cmp(safe) >= 0
		}
	case json.Number:
		if decimal.MatchString(value.String()) {
			found.SetString(value.String(), 10)
			right = found.Cmp(safe) < 0
		}
	}
	require(right, "malformed", e.place+"."+key, "must be a number below 2^53, or a hexadecimal text")
	return found
}

// count is a number of values, bits or columns.
func (e *entries) count(key string) uint64 {
	found := e.integer(key)
	require(found.Cmp(safe) < 0, "malformed", e.place+"."+key, "must be below 2^53")
	return found.Uint64()
}

func (e *entries) object(key string) *entries {
	e.read[key] = true
	data, is := e.data[key].(object)
	require(is, "malformed", e.place+"."+key, "must be an object")
	return &entries{data, e.place + "." + key, map[string]bool{}}
}

func (e *entries) ratio(key string) (*entries, *big.Rat) {
	fraction := e.object(key)
	a, b := fraction.integer("numerator"), fraction.integer("denominator")
	require(a.Sign() > 0 && b.Sign() > 0, "malformed", fraction.place, "must be positive")
	return fraction, new(big.Rat).SetFrac(a, b)
}

func (e *entries) law(holds bool, rule string) { require(holds, "not_a_law", e.place, rule) }

// word is an integer of a law that is one of 1..2^64-1.
func (e *entries) word(value *big.Int) uint64 {
	e.law(value.Sign() > 0 && value.IsUint64(), "must have integers of 1 to 2^64 - 1")
	return value.Uint64()
}

// Read checks a device program: its law, its columns and its odds.
func Read(data any) (program *Program, err error) {
	defer caught(&err)
	return readProgram(data, "program"), nil
}

func readProgram(value any, place string) *Program {
	data, is := value.(object)
	require(is, "malformed", place, "must be a program")
	require(data["format"] == json1, "unknown_format", place, "must have the format 1")
	name, _ := data["sampler"].(string)
	sampler, known := samplers[name]
	require(known, "unknown_sampler", place, "must name a sampler that this client knows")
	e := &entries{data, place, map[string]bool{"format": true, "sampler": true, "answer": true, "columns": true}}
	check := sampler(e)
	fraction, stated := e.ratio("odds")
	power := fraction.integer("power")
	_, most := e.ratio("odds_at_most")
	require(data["answer"] == "index", "malformed", place, "must have its kind of answers")
	for key := range data {
		require(e.read[key], "malformed", place, "must have the entries of its sampler")
	}
	program := &Program{data: data}
	program.columns = check(program)
	checkColumns(data["columns"], program.columns, place)
	for _, c := range program.columns {
		program.length += c.width * c.length
	}
	same := stated.Cmp(program.odds) == 0 && fraction.data["between"] == "any" && power.Cmp(big.NewInt(1)) == 0
	require(same, "odds_differ", place, "must be the odds of its integers")
	require(stated.Cmp(most) <= 0, "odds_exceed", place, "must have odds of at most odds_at_most")
	return program
}

func checkColumns(value any, columns []column, place string) {
	listed, _ := value.([]any)
	same := len(listed) == len(columns)
	for i := 0; same && i < len(columns); i++ {
		given, _ := listed[i].(object)
		dtype := map[int]string{1: "|u1", 2: "<u2", 4: "<u4", 8: "<u8"}[columns[i].width]
		length := json.Number(fmt.Sprint(columns[i].length))
		same = given["name"] == columns[i].name && given["dtype"] == dtype && given["length"] == length
	}
	require(same, "columns_differ", place, "must have the columns of its sampler")
}

// samplers read the entries of a program, and return what checks its law and completes it.
var samplers map[string]func(*entries) func(*Program) []column

func init() {
	samplers = map[string]func(*entries) func(*Program) []column{
		"direct": direct, "bits": unary, "hash": hash, "subset": subset, "hadamard": hadamard,
		"permanent": permanent,
	}
}

func larger(a, b *big.Int) *big.Rat {
	if a.Cmp(b) < 0 {
		a, b = b, a
	}
	return new(big.Rat).SetFrac(a, b)
}

// rest is 2^64 less a word.
func rest(word uint64) *big.Int { return new(big.Int).Sub(one64, whole(word)) }

func whole(word uint64) *big.Int { return new(big.Int).SetUint64(word) }

func product(a, b *big.Int) *big.Int { return new(big.Int).Mul(a, b) }

// widths are those of randomised response among values 0..size-1.
type widths struct{ size, own, other uint64 }

func (e *entries) widths(size uint64, own, other *big.Int) widths {
	e.law(size >= 2, "must have two values or more")
	total := product(whole(size-1), other)
	w := widths{size, e.word(own), e.word(other)}
	e.law(total.Add(total, own).Cmp(one64) <= 0, "own + (size - 1) other must be at most 2^64")
	return w
}

func (w widths) draw(index uint64, next words) uint64 {
	drawn := cell(next, w.other, w.size-1, w.own)
	if drawn == w.size-1 {
		return index
	}
	if drawn < index {
		return drawn
	}
	return drawn + 1
}

// supports says which reports speak for a value, and how much likelier they are.
func (p *Program) supports(inside, outside uint64, a, b *big.Int) {
	p.inside, p.outside, p.likelier, p.odds = inside, outside, new(big.Rat).SetFrac(a, b), larger(a, b)
}

func direct(e *entries) func(*Program) []column {
	size, own, other := e.count("size"), e.integer("own"), e.integer("other")
	return func(p *Program) []column {
		w := e.widths(size, own, other)
		report := numbers("report", size)
		p.Size = size
		p.supports(1, size-1, own, other)
		p.draw = func(index uint64, next words) []byte { return report.append(nil, w.draw(index, next)) }
		p.fresh = func(next words) []byte { return report.append(nil, uniform(next, size)) }
		return []column{report}
	}
}

func drawnBits(next words, threshold uint64, count int) []bool {
	ones := make([]bool, count)
	for i := range ones {
		ones[i] = below(next, threshold)
	}
	return ones
}

func unary(e *entries) func(*Program) []column {
	size, keep, raised := e.count("size"), e.integer("keep"), e.integer("raised")
	return func(p *Program) []column {
		e.law(size >= 2 && raised.Cmp(keep) < 0, "must have 1 <= raised < keep < 2^64")
		p.Size, p.keep, p.raised = size, e.word(keep), e.word(raised)
		p.odds = new(big.Rat).SetFrac(product(keep, rest(p.raised)), product(raised, rest(p.keep)))
		length := int((size + 7) / 8)
		p.draw = func(index uint64, next words) []byte {
			ones := drawnBits(next, p.raised, 8*length)[:size]
			ones[index] = below(next, p.keep)
			return packed(ones)
		}
		return []column{{"bits", 1, length}}
	}
}

func mix(h uint32) uint32 {
	h = (h ^ h>>16) * 0x7feb352d
	h = (h ^ h>>15) * 0x846ca68b
	return h ^ h>>16
}

func hash(e *entries) func(*Program) []column {
	size, buckets, family := e.count("size"), e.count("buckets"), e.count("family")
	own, other := e.integer("own"), e.integer("other")
	key := map[bool]string{true: "seeds", false: "prime"}[family == 1]
	m := e.count(key) // of functions by seed, or the prime of those over a field
	return func(p *Program) []column {
		e.law(size >= 2 && buckets >= 2 && buckets < 1<<16, "must have 2 <= buckets < 2^16")
		bucket := numbers("bucket", buckets)
		columns := []column{numbers("seed", m), bucket}
		choose := func(index uint64, next words) ([]byte, uint64) {
			seed := uniform(next, m)
			key := mix(uint32(seed)*0x9e3779b1 + 0x7f4a7c15)
			hashed := uint64(mix(key^uint32(index)*0x85ebca77) >> 16)
			return columns[0].append(nil, seed), hashed * buckets >> 16
		}
		if family == 1 {
			e.law(m >= 1 && m < 1<<32, "must have 1 <= seeds < 2^32")
		} else {
			e.law(family == 2 && m >= 2 && m >= size && m < 1<<27, "must have the family 2, and size <= prime < 2^27")
			columns = []column{numbers("multiplier", m-1), numbers("shift", m), bucket}
			choose = func(index uint64, next words) ([]byte, uint64) {
				multiplier, shift := uniform(next, m-1), uniform(next, m)
				cube := index * index % m * index % m
				record := columns[1].append(columns[0].append(nil, multiplier), shift)
				return record, ((multiplier+1)*cube + shift) % m % buckets
			}
		}
		w := e.widths(buckets, own, other)
		p.Size = size
		p.supports(1, buckets-1, own, other)
		p.draw = func(index uint64, next words) []byte {
			record, inside := choose(index, next)
			return bucket.append(record, w.draw(inside, next))
		}
		p.fresh = func(next words) []byte {
			record, _ := choose(0, next)
			return bucket.append(record, uniform(next, buckets))
		}
		return columns
	}
}

// members draws a uniform subset of 0..total-1 by Floyd's algorithm; with complement, what is not in it.
func members(next words, total, count uint64, complement bool) []bool {
	if complement {
		count = total - count
	}
	chosen := make([]bool, total)
	for top := total - count; top < total; top++ {
		drawn := uniform(next, top+1)
		if chosen[drawn] {
			drawn = top
		}
		chosen[drawn] = true
	}
	for i := range chosen {
		chosen[i] = chosen[i] != complement
	}
	return chosen
}

func subset(e *entries) func(*Program) []column {
	size, d, include := e.count("size"), e.count("members"), e.integer("include")
	return func(p *Program) []column {
		e.law(d >= 1 && d < size, "must have 1 <= members < size")
		threshold := e.word(include)
		p.Size = size
		p.supports(d, size-d, product(include, whole(size-d)), product(whole(d), rest(threshold)))
		p.draw = func(index uint64, next words) []byte {
			included, count := below(next, threshold), d
			if included {
				count--
			}
			chosen := members(next, size-1, count, 2*d > size)
			chosen = append(chosen, index < size-1 && chosen[index]) // the last value stood there
			chosen[index] = included
			return packed(chosen)
		}
		p.fresh = func(next words) []byte { return packed(members(next, size, d, 2*d > size+1)) }
		return []column{{"bits", 1, int((size + 7) / 8)}}
	}
}

func hadamard(e *entries) func(*Program) []column {
	size, order, agree := e.count("size"), e.count("order"), e.integer("agree")
	return func(p *Program) []column {
		e.law(size >= 2 && order > size && order&(order-1) == 0, "must have an order that is a power of two above size")
		threshold := e.word(agree)
		report := numbers("report", order)
		p.Size = size
		p.supports(1, 1, agree, rest(threshold))
		p.draw = func(index uint64, next words) []byte {
			y, row := uniform(next, order), index+1
			agrees := bits.OnesCount64(y&row)%2 == 0
			if below(next, threshold) != agrees {
				y ^= row & -row
			}
			return report.append(nil, y)
		}
		p.fresh = func(next words) []byte { return report.append(nil, uniform(next, order)) }
		return []column{report}
	}
}

func permanent(e *entries) func(*Program) []column {
	size, keep := e.count("size"), e.integer("keep")
	e.read["memo"] = true
	var coin *big.Int
	if _, has := e.data["coin"]; has {
		coin = e.integer("coin")
	}
	return func(p *Program) []column {
		memo := readProgram(e.data["memo"], e.place+".memo")
		e.law(memo.Memo == nil && memo.Size == size, "must have a memo of as many values that can be degraded")
		e.law((coin != nil) == (memo.fresh == nil), "must have a coin for bits alone")
		stays := e.word(keep)
		p.Size, p.Memo = size, memo
		p.draw = func(index uint64, next words) []byte { return p.degrade(memo.draw(index, next), next) }
		if memo.fresh == nil {
			p.odds = oddsOfBits(memo, stays, e.word(coin))
			p.degrade = bitByBit(size, stays, coin.Uint64())
		} else {
			e.law(memo.likelier.Cmp(big.NewRat(1, 1)) > 0, "must have a memo whose reports speak for their values")
			p.odds = oddsOfWhole(memo, stays)
			p.degrade = func(kept []byte, next words) []byte {
				stays := below(next, stays)
				fresh := memo.fresh(next) // in any case, so that the words do not tell whether it stays
				if stays {
					return kept
				}
				return fresh
			}
		}
		return memo.columns
	}
}

// bitByBit keeps each bit with its own word, and tosses a coin for the others.
func bitByBit(size, keep, coin uint64) func([]byte, words) []byte {
	return func(kept []byte, next words) []byte {
		stays, coins := drawnBits(next, keep, 8*len(kept)), drawnBits(next, coin, 8*len(kept))
		for j := range coins {
			if stays[j] {
				coins[j] = kept[j/8]>>(7-j%8)&1 == 1
			}
		}
		return packed(coins[:size])
	}
}

func oddsOfBits(memo *Program, keep, coin uint64) *big.Rat {
	square := product(one64, one64)
	chance := func(bit uint64) *big.Int { // of a 1, of 2^128
		kept := product(whole(keep), whole(bit))
		return kept.Add(kept, product(rest(keep), whole(coin)))
	}
	high, low := chance(memo.keep), chance(memo.raised)
	not := func(a *big.Int) *big.Int { return new(big.Int).Sub(square, a) }
	return new(big.Rat).SetFrac(product(high, not(low)), product(low, not(high)))
}

func oddsOfWhole(memo *Program, keep uint64) *big.Rat {
	high, low := memo.likelier.Num(), memo.likelier.Denom()
	all := new(big.Int).Add(whole(memo.inside), whole(memo.outside))
	total := product(whole(memo.inside), high)
	total.Add(total, product(whole(memo.outside), low))
	uniform := product(rest(keep), total)
	of := func(likelihood *big.Int) *big.Int {
		kept := product(product(whole(keep), likelihood), all)
		return kept.Add(kept, uniform)
	}
	return new(big.Rat).SetFrac(of(high), of(low))
}

// nats is the epsilon of odds.
func nats(odds *big.Rat) float64 {
	beyond, _ := new(big.Rat).Sub(odds, big.NewRat(1, 1)).Float64()
	return math.Log1p(beyond)
}
