package warner

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"testing"
)

type vector struct {
	Name, Served, Sha256, Code, Body string
	Error                            *string
	Program                          any
	Domain                           object
	Draws                            []struct {
		Encoded any
		Words   []string
		Record  string
		Used    int
	}
	Answers     json.RawMessage
	Public      map[string]any
	Memos       map[string]string
	Words       []string
	Used, Block int
	Edits       [][2]any
}

func decoded(t *testing.T, text []byte, into any) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		t.Fatal(err)
	}
}

func vectors(t *testing.T, name string) []vector {
	text, err := os.ReadFile("../../tests/vectors/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []vector }
	decoded(t, text, &file)
	return file.Cases
}

// listed words, and how many were taken; one more than all is refused.
func listed(texts []string) (words, *int) {
	used := new(int)
	return func() uint64 {
		require(*used < len(texts), "words", "words", "are used up")
		word, _ := strconv.ParseUint(texts[*used][2:], 16, 64)
		*used++
		return word
	}, used
}

func code(err error) string {
	var refusal *Refusal
	if errors.As(err, &refusal) {
		return refusal.Code
	}
	return ""
}

func same(t *testing.T, found, expected any) {
	t.Helper()
	if found != expected {
		t.Errorf("%v, expected %v", found, expected)
	}
}

// knows says whether the client has all samplers of a program.
func knows(value any) bool {
	program, is := value.(object)
	name, _ := program["sampler"].(string)
	memo, permanent := program["memo"]
	return is && samplers[name] != nil && (!permanent || knows(memo))
}

func TestSamplers(t *testing.T) {
	judged := map[string]int{}
	for _, v := range vectors(t, "samplers.json") {
		t.Run(v.Name, func(t *testing.T) {
			program, err := Read(v.Program)
			if !knows(v.Program) {
				same(t, code(err), "unknown_sampler")
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			judged[v.Program.(object)["sampler"].(string)]++
			for _, draw := range v.Draws {
				index, _ := draw.Encoded.(json.Number).Int64()
				next, used := listed(draw.Words)
				same(t, hex.EncodeToString(program.draw(uint64(index), next)), draw.Record)
				same(t, *used, draw.Used)
			}
		})
	}
	same(t, len(judged), len(samplers))
}

func TestDraws(t *testing.T) {
	judged := 0
	for _, v := range vectors(t, "samplers.json") {
		data := v.Program.(object)
		programs, drawn := data["programs"].([]any)
		for _, program := range programs {
			drawn = drawn && knows(program)
		}
		if data["sampler"] != "one_of" || !drawn {
			continue
		}
		draws := readDraws(v.Program, v.Name)
		for _, draw := range v.Draws {
			next, used := listed(draw.Words)
			block := draws.drawn(next())
			index, _ := draw.Encoded.([]any)[block].(json.Number).Int64()
			same(t, hex.EncodeToString(draws.record(block, draws.blocks[block].program.draw(uint64(index), next))), draw.Record)
			same(t, *used, draw.Used)
		}
		judged++
	}
	same(t, judged, 2)
}

func TestPrograms(t *testing.T) {
	for _, v := range vectors(t, "programs.json") {
		t.Run(v.Name, func(t *testing.T) {
			expected := ""
			if v.Error != nil {
				expected = *v.Error
			}
			_, err := Read(v.Program)
			if program, is := v.Program.(object); is && expected != "unknown_format" && !knows(program) {
				expected = "unknown_sampler"
			}
			same(t, code(err), expected)
		})
	}
}

func TestEncodings(t *testing.T) {
	for _, v := range vectors(t, "encodings.json") {
		t.Run(v.Name, func(t *testing.T) {
			var answers []struct {
				Answer any
				Index  uint64
				Error  string
			}
			decoded(t, v.Answers, &answers)
			asked := &Asked{Name: "question", domain: v.Domain, size: sizeOf(v.Domain, "question")}
			for _, a := range answers {
				index, err := asked.Index(a.Answer)
				same(t, code(err), a.Error)
				if err == nil {
					same(t, index, a.Index)
				}
			}
		})
	}
}

func edited(t *testing.T, served string, edits [][2]any) object {
	var document object
	decoded(t, []byte(served), &document)
	for _, edit := range edits {
		var at any = document
		path := edit[0].([]any)
		for i, key := range path {
			last := i == len(path)-1
			if list, is := at.([]any); is {
				place, _ := key.(json.Number).Int64()
				if last {
					list[place] = edit[1]
				}
				at = list[place]
				continue
			}
			if last {
				at.(object)[key.(string)] = edit[1]
			}
			at = at.(object)[key.(string)]
		}
	}
	return document
}

func checked(document object) (err error) {
	defer caught(&err)
	checkSurvey(document)
	return nil
}

func sealed(survey *Survey, person Person, block int, memos [][]byte, next words) (body []byte, err error) {
	defer caught(&err)
	return survey.seal(person, block, memos, next), nil
}

func TestSurveys(t *testing.T) {
	for _, file := range []string{"finite.json", "rounds.json", "draws.json", "drawn_rounds.json"} {
		cases := vectors(t, file)
		whole := cases[0]
		survey, err := ReadSurvey([]byte(whole.Served), whole.Sha256)
		if err != nil {
			t.Fatal(err)
		}
		_, err = ReadSurvey([]byte(whole.Served+" "), whole.Sha256)
		same(t, code(err), "altered")
		_, err = ReadSurvey([]byte(whole.Served+"{}"), "")
		same(t, code(err), "malformed")
		for _, v := range cases[1:] {
			t.Run(file+v.Name+v.Code, func(t *testing.T) {
				if v.Error != nil {
					same(t, code(checked(edited(t, whole.Served, v.Edits))), *v.Error)
					return
				}
				person := Person{Public: v.Public, Code: v.Code}
				decoded(t, v.Answers, &person.Answers)
				block := 0
				if survey.draws != nil {
					block = survey.blockOfCode(v.Code)
					same(t, block, v.Block)
				}
				memos := [][]byte{}
				for _, q := range survey.asked(block) {
					memo, _ := hex.DecodeString(v.Memos[q.Name])
					memos = append(memos, memo)
				}
				next, used := listed(v.Words)
				body, err := sealed(survey, person, block, memos, next)
				if err != nil {
					t.Fatal(err)
				}
				same(t, hex.EncodeToString(body), v.Body)
				same(t, *used, v.Used)
				person.Code = "ABCD-0000"
				_, err = sealed(survey, person, block, memos, systemWord)
				same(t, code(err), "code")
				person.Code = v.Code
				delete(person.Answers, survey.asked(block)[0].Name)
				_, err = sealed(survey, person, block, memos, systemWord)
				same(t, code(err), "bad_answer")
			})
		}
	}
}

// What the other surveys ask for is refused by name, and never answered in part.
func TestSurveysOfOtherSamplers(t *testing.T) {
	for _, file := range []string{"studies.json"} {
		cases := vectors(t, file)
		same(t, code(checked(edited(t, cases[0].Served, nil))), "unknown_sampler")
		for _, v := range cases {
			if v.Error != nil {
				found := code(checked(edited(t, cases[0].Served, v.Edits)))
				if found != *v.Error && found != "unknown_sampler" {
					t.Errorf("%s: %s, expected %s", v.Name, found, *v.Error)
				}
			}
		}
	}
}
