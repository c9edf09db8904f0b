package warner

import (
	"fmt"
	"math/big"
	"sort"
	"strings"
)

// draws is a program one_of: which block of the questions a person is asked, and how it is randomised.
type draws struct {
	odds    []*big.Int // of 2^64
	blocks  []block
	columns []column
}

type block struct {
	names   []string
	program *Program
}

func readDraws(value any, place string) *draws {
	data, is := value.(object)
	require(is, "malformed", place, "must be a program")
	if data["sampler"] != "one_of" {
		readProgram(value, place)
		require(false, "malformed", place, "must be of blocks of questions")
	}
	require(data["format"] == json1, "unknown_format", place, "must have the format 1")
	for key := range data {
		known := strings.Contains(" format sampler answer columns odds odds_at_most draw blocks programs ", " "+key+" ")
		require(known, "malformed", place, "must have the entries of its sampler")
	}
	require(data["answer"] == "parts", "malformed", place, "must have its kind of answers")
	widths, isDraw := data["draw"].([]any)
	listed, isBlocks := data["blocks"].([]any)
	programs, isPrograms := data["programs"].([]any)
	require(isDraw && isBlocks && isPrograms, "malformed", place, "must have lists of blocks and programs")
	e := &entries{object{}, place, map[string]bool{}}
	d := &draws{}
	for _, width := range widths {
		e.data["draw"] = width
		d.odds = append(d.odds, e.integer("draw"))
	}
	read := []*Program{}
	for i, program := range programs {
		read = append(read, readProgram(program, fmt.Sprintf("%s.programs[%d]", place, i)))
	}
	sets, used := map[string]bool{}, map[uint64]bool{}
	for _, value := range listed {
		one, _ := value.(object)
		e.data["program"] = one["program"]
		number := e.count("program")
		e.law(number < uint64(len(read)), "must have the programs of its blocks")
		names := namesOf(one["attributes"], e)
		d.blocks, used[number] = append(d.blocks, block{names, read[number]}), true
		sorted := append([]string{}, names...)
		sort.Strings(sorted)
		set := fmt.Sprintf("%q", sorted)
		e.law(!sets[set], "must have each block once")
		sets[set] = true
	}
	total := new(big.Int)
	for _, width := range d.odds {
		e.law(width.Sign() > 0, "must have odds of at least 1")
		total.Add(total, width)
	}
	right := len(d.blocks) >= 2 && len(d.blocks) <= 10_000 && len(d.odds) == len(d.blocks) && len(used) == len(read)
	e.law(right && total.Cmp(one64) == 0, "must have 2 to 10,000 blocks, whose odds sum to 2^64")
	d.columns = d.slots()
	checkColumns(data["columns"], d.columns, place)
	none := data["odds"] == nil && data["odds_at_most"] == nil
	require(none, "odds_differ", place, "must have no odds of its own")
	return d
}

func namesOf(value any, e *entries) []string {
	listed, _ := value.([]any)
	names, seen := []string{}, map[string]bool{}
	for _, value := range listed {
		name, is := value.(string)
		require(is, "malformed", e.place, "must have names of questions")
		e.law(!seen[name], "must have each question of a block once")
		names, seen[name] = append(names, name), true
	}
	e.law(len(names) > 0, "must have a question in each block")
	return names
}

// slots are the columns of a report: the block, and numbers of the widest type that a block needs there.
func (d *draws) slots() []column {
	widths := []int{}
	for _, b := range d.blocks {
		slot := 0
		for _, c := range b.program.columns {
			for i := 0; i < c.length; i++ {
				if slot == len(widths) {
					widths = append(widths, 0)
				}
				if widths[slot] < c.width {
					widths[slot] = c.width
				}
				slot++
			}
		}
	}
	columns := []column{numbers("block", uint64(len(d.blocks)))}
	for i, width := range widths {
		name := "report"
		if len(widths) > 1 {
			name = fmt.Sprintf("report_%d", i+1)
		}
		columns = append(columns, column{name, width, 1})
	}
	return columns
}

// drawn is the block of one word, before any answer is known.
func (d *draws) drawn(word uint64) int {
	end, u := new(big.Int), whole(word)
	for i, width := range d.odds {
		if end.Add(end, width); u.Cmp(end) < 0 {
			return i
		}
	}
	panic("the odds sum to 2^64")
}

// record is the report on a block, from that of its program.
func (d *draws) record(number int, left []byte) []byte {
	program := d.blocks[number].program
	record := d.columns[0].append(nil, uint64(number))
	slot := 1
	for _, c := range program.columns {
		for i := 0; i < c.length; i++ {
			padded := append(append([]byte{}, left[:c.width]...), make([]byte, 8)...)
			record = append(record, padded[:d.columns[slot].width]...)
			left, slot = left[c.width:], slot+1
		}
	}
	for ; slot < len(d.columns); slot++ {
		record = d.columns[slot].append(record, 0)
	}
	return record
}
