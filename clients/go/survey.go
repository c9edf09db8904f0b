package warner

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"math"
	"math/big"
	"regexp"
	"strings"
	"time"
)

// mostOdds of any two answers, unless the survey says that its protection is weak.
var mostOdds = big.NewRat(22027, 1)

// Asked is a question or a public column. Data holds all of it, also the texts to show.
type Asked struct {
	Name    string
	Silence bool     // whether nil, for no answer, is an answer
	Program *Program // nil where questions are drawn
	Data    map[string]any
	domain  object
	size    uint64 // values, without silence
	epsilon float64
}

// Survey is a survey document that was read and checked. Data holds all of it, also the texts to show.
type Survey struct {
	Study, Layout     string
	Invited           bool
	Questions, Public []*Asked
	Values            uint64 // on how many answers to a question a device reports at most; 0 for one round
	Data              map[string]any
	draws             *draws // where each person is asked one block of the questions
	draw              string // the name under which a device keeps the block
}

var digest64 = regexp.MustCompile(`^[0-9a-f]{64}$`)

// ReadSurvey reads and checks a survey as it was served.
//
// digest is the SHA-256 that its bytes must have, by another way than the bytes; "" for none.
func ReadSurvey(served []byte, digest string) (survey *Survey, err error) {
	defer caught(&err)
	found := sha256.Sum256(served)
	same := digest == "" || hex.EncodeToString(found[:]) == strings.ToLower(digest)
	require(same, "altered", "survey", "must have its digest")
	decoder := json.NewDecoder(bytes.NewReader(served))
	decoder.UseNumber()
	var data object
	err = decoder.Decode(&data)
	_, after := decoder.Token()
	require(err == nil && after == io.EOF && data != nil, "malformed", "survey", "must be a JSON object")
	return checkSurvey(data), nil
}

func checkSurvey(data object) *Survey {
	bad := func(holds bool, key, rule string) { require(holds, "malformed", "survey."+key, rule) }
	bad(data["format"] == json.Number("1"), "format", "must be 1")
	study, _ := data["study"].(string)
	layout, _ := data["layout"].(string)
	bad(digest64.MatchString(study) && digest64.MatchString(layout), "study", "must have digests of 64 digits")
	access, _ := data["access"].(string)
	bad(access == "open" || access == "invited", "access", "must be open or invited")
	_, contact := data["contact"].(string)
	bad(contact, "contact", "must be a text")
	weak, says := data["weak_protection"]
	bad(!says || weak == true, "weak_protection", "must be true, or left out")
	for _, key := range []string{"opens", "closes"} {
		moment, _ := data[key].(string)
		_, err := time.Parse(time.RFC3339, moment)
		bad(data[key] == nil || err == nil, key, "must be a moment or null")
	}
	languages := languagesOf(data["languages"])
	checkText(data["title"], languages, "survey.title")
	checkText(data["introduction"], languages, "survey.introduction")
	questions, _ := data["questions"].([]any)
	columns, is := data["public"].([]any)
	bad(is && len(questions) > 0, "questions", "must be lists, with a question at least")
	_, drawn := data["program"]
	survey := &Survey{Study: study, Layout: layout, Invited: access == "invited", Data: data, draw: study}
	names, total := map[string]bool{}, 0.0
	for i, value := range append(questions[:len(questions):len(questions)], columns...) {
		asked := readAsked(value, languages)
		bad(!names[asked.Name], asked.Name, "must be asked once")
		names[asked.Name] = true
		if i >= len(questions) {
			kind := asked.domain["kind"]
			bad(kind == "categorical" || kind == "integers", asked.Name, "must be of a public column")
			survey.Public = append(survey.Public, asked)
			continue
		}
		asked.readQuestion()
		if _, has := asked.Data["program"]; drawn {
			bad(!has, asked.Name, "must have no program beside that of all")
		} else {
			asked.Program = readProgram(asked.Data["program"], "survey."+asked.Name)
			asked.checkProgram(asked.Program, weak == true)
			bad(asked.Program.Size == asked.values(), asked.Name, "must have a program for its values")
			total += asked.epsilon
		}
		survey.Questions = append(survey.Questions, asked)
	}
	if drawn {
		survey.draws = readDraws(data["program"], "survey.program")
		total = survey.checkBlocks(weak == true)
	}
	survey.checkRepeat()
	stated := positive(data["epsilon"], "survey.epsilon")
	require(total <= stated*(1+1e-9), "odds_exceed", "survey.epsilon", "must be the epsilon of the odds")
	return survey
}

func languagesOf(value any) []string {
	listed, _ := value.([]any)
	languages, seen := []string{}, map[string]bool{}
	for _, tag := range listed {
		text, is := tag.(string)
		require(is && !seen[text], "malformed", "survey.languages", "must be different texts")
		languages, seen[text] = append(languages, text), true
	}
	require(len(languages) > 0, "malformed", "survey.languages", "must be different texts")
	return languages
}

func checkText(value any, languages []string, place string) {
	texts, _ := value.(object)
	for _, tag := range languages {
		_, is := texts[tag].(string)
		require(is, "malformed", place, "must have a text in each language")
	}
}

func positive(value any, place string) float64 {
	number, is := numberOf(value)
	require(is && number > 0, "malformed", place, "must be a number above 0")
	return number
}

// numberOf is the double of a number of JSON or of Go.
func numberOf(value any) (float64, bool) {
	switch number := value.(type) {
	case json.Number:
		found, err := number.Float64()
		return found, err == nil
	case int:
		return float64(number), true
	case float64:
		return number, !math.IsNaN(number) && !math.IsInf(number, 0)
	}
	return 0, false
}

// wholeOf is an integer between -2^53 and 2^53.
func wholeOf(value any) (int64, bool) {
	number, is := numberOf(value)
	return int64(number), is && number == math.Trunc(number) && math.Abs(number) < 1<<53
}

func readAsked(value any, languages []string) *Asked {
	data, _ := value.(object)
	name, _ := data["name"].(string)
	require(name != "", "malformed", "survey.questions", "must be objects with names")
	place := "survey." + name
	checkText(data["label"], languages, place+".label")
	checkText(data["help"], languages, place+".help")
	_, unit := data["unit"].(string)
	require(unit, "malformed", place+".unit", "must be a text")
	domain, is := data["domain"].(object)
	require(is, "malformed", place+".domain", "must be an object")
	asked := &Asked{Name: name, Data: data, domain: domain, size: sizeOf(domain, place+".domain")}
	shown, _ := data["answers"].(object)
	labels, _ := domain["values"].([]any)
	for _, tag := range languages {
		texts, is := shown[tag].([]any)
		right := is && len(texts) == len(labels)
		for _, text := range texts {
			_, is := text.(string)
			right = right && is
		}
		require(right, "malformed", place+".answers", "must have a text for each label")
	}
	return asked
}

// sizeOf checks a domain, and returns how many values it has.
func sizeOf(domain object, place string) uint64 {
	bad := func(holds bool) { require(holds, "malformed", place, "must be a domain that this client knows") }
	integer := func(key string) float64 {
		found, is := wholeOf(domain[key])
		bad(is)
		return float64(found)
	}
	size := 0.0
	switch domain["kind"] {
	case "categorical":
		values, is := domain["values"].([]any)
		bad(is)
		seen := map[any]bool{}
		for _, value := range values {
			_, text := value.(string)
			_, truth := value.(bool)
			_, number := wholeOf(value)
			bad((text || truth || number) && !seen[value])
			seen[value] = true
		}
		size = float64(len(values))
	case "integers":
		size = integer("high") - integer("low") + 1
	case "interval":
		low, isLow := numberOf(domain["low"])
		high, isHigh := numberOf(domain["high"])
		clip, has := domain["clip"]
		_, truth := clip.(bool)
		bad(isLow && isHigh && low < high && (!has || truth))
		size = integer("bins")
	case "grid":
		size = integer("rows")*integer("columns") - float64(len(leftOut(domain, bad)))
	default:
		require(domain["kind"] != "dates", "unknown_domain", place, "has dates, which this client does not know")
		bad(false)
	}
	require(size >= 2 && size <= 1<<26, "malformed", place, "must have 2 to 2^26 values")
	return uint64(size)
}

// leftOut are the cells of a grid that are no values, by row * columns + column.
func leftOut(domain object, bad func(bool)) []int64 {
	listed, is := domain["without"].([]any)
	bad(is || domain["without"] == nil)
	columns, _ := wholeOf(domain["columns"])
	cells := []int64{}
	for _, cell := range listed {
		row, column, is := pair(cell)
		bad(is)
		cells = append(cells, row*columns+column)
	}
	return cells
}

func pair(value any) (row, column int64, is bool) {
	both, _ := value.([]any)
	if numbers, ints := value.([]int); ints {
		for _, number := range numbers {
			both = append(both, number)
		}
	}
	if len(both) != 2 {
		return 0, 0, false
	}
	row, isRow := wholeOf(both[0])
	column, isColumn := wholeOf(both[1])
	return row, column, isRow && isColumn
}

func (q *Asked) readQuestion() {
	place, truth := "survey."+q.Name, false
	q.Silence, truth = q.Data["silence"].(bool)
	require(truth, "malformed", place+".silence", "must be true or false")
	q.epsilon = positive(q.Data["epsilon"], place+".epsilon")
	if q.Data["delta"] != nil {
		positive(q.Data["delta"], place+".delta")
	}
}

// values are the answers that a question has, silence among them.
func (q *Asked) values() uint64 {
	if q.Silence {
		return q.size + 1
	}
	return q.size
}

// checkProgram refuses a program that spends more on a question than it states, or protects too little.
func (q *Asked) checkProgram(program *Program, weak bool) {
	place := "survey." + q.Name + ".epsilon"
	spent := nats(program.odds)
	require(spent <= q.epsilon*(1+1e-9)+1e-12, "odds_exceed", place, "must be the epsilon of the odds")
	protects := weak || program.odds.Cmp(mostOdds) <= 0
	require(protects, "unprotected", place, "must have odds of at most 22027 of any two answers")
}

// checkBlocks returns the epsilon of the block that spends most.
func (s *Survey) checkBlocks(weak bool) float64 {
	questions, held, most := map[string]*Asked{}, map[string]bool{}, 0.0
	for _, q := range s.Questions {
		questions[q.Name] = q
	}
	for _, b := range s.draws.blocks {
		values := 1.0
		for _, name := range b.names {
			require(questions[name] != nil, "malformed", "survey.program", "must be of the questions of the survey")
			held[name] = true
			values *= float64(questions[name].values())
		}
		require(values == float64(b.program.Size), "malformed", "survey.program", "must have a program for its values")
		for _, name := range b.names {
			questions[name].checkProgram(b.program, weak)
		}
		most = math.Max(most, nats(b.program.odds))
	}
	require(len(held) == len(questions), "malformed", "survey.program", "must be of the questions of the survey")
	return most
}

// checkRepeat: a survey has permanent reports and says its rounds, or it has neither.
func (s *Survey) checkRepeat() {
	place := "survey.repeat"
	value, has := s.Data["repeat"]
	programs := s.programs(0)
	if s.draws != nil {
		for i, b := range s.draws.blocks {
			require(!has || len(b.names) == 1, "malformed", place, "must go with blocks of one question")
			programs = append(programs[:i], s.programs(i)...)
		}
	}
	for _, program := range programs {
		permanent := program.Memo != nil
		require(permanent == has, "malformed", place, "must go with permanent reports of all questions")
	}
	if !has {
		return
	}
	repeat, _ := value.(object)
	draw, named := repeat["draw"]
	if s.draws != nil {
		s.draw, named = draw.(string)
		require(named && digest64.MatchString(s.draw), "malformed", place, "must name what a device draws for all rounds")
	} else {
		require(!named, "malformed", place, "must name no draw where nothing is drawn")
	}
	round, isRound := wholeOf(repeat["round"])
	rounds, isRounds := wholeOf(repeat["rounds"])
	values, isValues := wholeOf(repeat["values"])
	right := isRound && isRounds && isValues && 1 <= round && round <= rounds && values >= 1
	require(right, "malformed", place, "must be of one round")
	s.Values = uint64(values)
	total := 0.0
	for _, program := range programs {
		spent := float64(s.most(program)) * nats(program.Memo.odds)
		if s.draws != nil {
			total = math.Max(total, spent) // a device reports on one question alone
		} else {
			total += spent
		}
	}
	stated := positive(repeat["epsilon"], place+".epsilon")
	require(total <= stated*(1+1e-9), "odds_exceed", place+".epsilon", "must be the epsilon of all permanent reports")
}

// most is on how many answers to a question a device reports.
func (s *Survey) most(program *Program) uint64 {
	if s.Values < program.Size {
		return s.Values
	}
	return program.Size
}

// programs are those of the reports on a block, or on all questions where nothing is drawn.
func (s *Survey) programs(block int) []*Program {
	if s.draws != nil {
		return []*Program{s.draws.blocks[block].program}
	}
	programs := []*Program{}
	for _, q := range s.Questions {
		programs = append(programs, q.Program)
	}
	return programs
}

// Index is the number of an answer: a text, a bool, a number, a cell [row, column], or nil for none.
func (q *Asked) Index(answer any) (index uint64, err error) {
	defer caught(&err)
	return q.index(answer), nil
}

func (q *Asked) index(answer any) uint64 {
	bad := func(holds bool, rule string) { require(holds, "bad_answer", q.Name, rule) }
	if answer == nil {
		bad(q.Silence, "needs an answer")
		return q.size
	}
	number, isNumber := numberOf(answer)
	one := "must be one of the values of the question"
	switch q.domain["kind"] {
	case "categorical":
		for i, value := range q.domain["values"].([]any) {
			listed, is := numberOf(value)
			if value == answer && !is || is && isNumber && listed == number {
				return uint64(i)
			}
		}
	case "integers":
		found, is := wholeOf(answer)
		low, _ := wholeOf(q.domain["low"])
		high, _ := wholeOf(q.domain["high"])
		if is && low <= found && found <= high {
			return uint64(found - low)
		}
	case "interval":
		low, _ := numberOf(q.domain["low"])
		high, _ := numberOf(q.domain["high"])
		bins, _ := numberOf(q.domain["bins"])
		if q.domain["clip"] == true {
			number = math.Min(math.Max(number, low), high)
		}
		bad(isNumber && low <= number && number <= high, "must be a number within the limits of the question")
		share := (number - low) / (high - low)
		return uint64(math.Min(float64(share*bins), bins-1))
	case "grid":
		row, column, is := pair(answer)
		rows, _ := wholeOf(q.domain["rows"])
		columns, _ := wholeOf(q.domain["columns"])
		bad(is && 0 <= row && row < rows && 0 <= column && column < columns, one)
		place := row*columns + column
		index := place
		for _, other := range leftOut(q.domain, func(bool) {}) {
			bad(other != place, one)
			if other < place {
				index--
			}
		}
		return uint64(index)
	}
	bad(false, one)
	return 0
}

// Person answers a survey once. Maps have an entry for every question that is asked, see Device.Asked, and for
// every public column.
type Person struct {
	Answers map[string]any `json:"answers"`
	Public  map[string]any `json:"public"`
	Code    string         `json:"code"` // the invitation code, where the survey asks for one
}

// given are the indices of the answers to what is asked. Other answers of the survey are not read.
func given(asked, all []*Asked, answers map[string]any) []uint64 {
	indices, names := []uint64{}, map[string]bool{}
	for _, q := range all {
		names[q.Name] = true
	}
	for name := range answers {
		require(names[name], "bad_answer", name, "is no question of the survey")
	}
	for _, q := range asked {
		answer, has := answers[q.Name]
		require(has, "bad_answer", q.Name, "needs an answer, or null for none")
		indices = append(indices, q.index(answer))
	}
	return indices
}

// answers are those of a person to the questions of a block, or to all where nothing is drawn.
func (s *Survey) answers(person Person, block int) []uint64 {
	return given(s.asked(block), s.Questions, person.Answers)
}

func (s *Survey) public(person Person) []uint64 { return given(s.Public, s.Public, person.Public) }

func (s *Survey) asked(block int) []*Asked {
	if s.draws == nil {
		return s.Questions
	}
	asked := []*Asked{}
	for _, name := range s.draws.blocks[block].names {
		for _, q := range s.Questions {
			if q.Name == name {
				asked = append(asked, q)
			}
		}
	}
	return asked
}

// blockOfCode is the block that an invited person is asked, the same on every device.
func (s *Survey) blockOfCode(code string) int {
	hash := s.hashOfCode("warner block\n"+s.draw, code)
	return s.draws.drawn(binary.BigEndian.Uint64(hash))
}

// seal returns the body that leaves the device. block is what was drawn, and memos are the permanent reports
// on what is asked, where there are rounds.
func (s *Survey) seal(person Person, block int, memos [][]byte, next words) []byte {
	body := s.head(person.Code)
	for _, index := range s.public(person) {
		body = binary.LittleEndian.AppendUint32(body, uint32(index))
	}
	indices := s.answers(person, block)
	if s.draws != nil {
		joint := uint64(0)
		for i, q := range s.asked(block) {
			joint = joint*q.values() + indices[i]
		}
		indices = []uint64{joint}
	}
	for i, program := range s.programs(block) {
		var report []byte
		if program.Memo == nil {
			report = program.draw(indices[i], next)
		} else {
			report = program.degrade(memos[i], next)
		}
		if s.draws != nil {
			report = s.draws.record(block, report)
		}
		body = append(body, report...)
	}
	return body
}

// head is the body as far as the id, which no answer has a part in.
func (s *Survey) head(code string) []byte {
	layout, _ := hex.DecodeString(s.Layout)
	id := make([]byte, 16)
	if s.Invited {
		id = s.hashOfCode("warner invitation\n"+s.Study, code)
	} else if _, err := rand.Read(id); err != nil {
		panic("the operating system gives no randomness")
	}
	return append(append([]byte("WRN1"), layout...), id...)
}

var notInCode = regexp.MustCompile(`[\s-]`)
var code16 = regexp.MustCompile(`^[2-9A-HJKMNP-TV-Z]{16}$`)

func (s *Survey) hashOfCode(use, code string) []byte {
	plain := strings.ToUpper(notInCode.ReplaceAllString(code, ""))
	require(code16.MatchString(plain), "code", "code", "must be 16 letters and digits, as in the invitation")
	hash := sha256.Sum256([]byte(use + "\n" + plain))
	return hash[:16]
}
