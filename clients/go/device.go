package warner

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Device is the installation of one person: what is kept until it was sent, and permanent reports.
type Device struct {
	url, folder string
	key         []byte
	client      *http.Client
}

// Open returns the device that keeps in a folder what it sends to the collector at an address.
//
// The address must be of HTTPS, or of this machine. key has 32 bytes of the operating system's random
// generator, and belongs in the platform's key store: it hides permanent reports in copies of the folder.
func Open(address, folder string, key []byte) (device *Device, err error) {
	defer caught(&err)
	parsed, err := url.Parse(address)
	require(err == nil && parsed.Host != "", "insecure", "address", "must be a URL")
	ip := net.ParseIP(parsed.Hostname())
	local := parsed.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	require(parsed.Scheme == "https" || parsed.Scheme == "http" && local, "insecure", "address", "must begin with https://")
	require(len(key) == 32, "insecure", "key", "must have 32 bytes")
	client := &http.Client{Timeout: 30 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	if address[len(address)-1] != '/' {
		address += "/"
	}
	return &Device{address, folder, key, client}, os.MkdirAll(folder, 0o700)
}

// Survey asks the collector for its survey. digest is as that of ReadSurvey.
func (d *Device) Survey(digest string) (*Survey, error) {
	reply, err := d.client.Get(d.url + "study.json")
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	served, err := io.ReadAll(io.LimitReader(reply.Body, 1<<26))
	if err == nil && reply.StatusCode != http.StatusOK {
		err = fmt.Errorf("the collector replied %d", reply.StatusCode)
	}
	if err != nil {
		return nil, err
	}
	return ReadSurvey(served, digest)
}

// Send sends the answers of this person, once: they are randomised at the first call, and kept; a
// later call sends the same bytes, whatever answers it has, until they have arrived.
//
// outcome is "sent"; "unavailable", "busy" or "not-open", after which the caller tries again later;
// "spent", where the code was used; "closed", "not-invited", "other-study" or "rejected".
func (d *Device) Send(survey *Survey, person Person) (outcome string, err error) {
	defer caught(&err)
	name := survey.Study
	if survey.Invited {
		name += "-" + hex.EncodeToString(survey.hashOfCode("warner note", person.Code))
	}
	path := filepath.Join(d.folder, "outbox-"+name)
	body, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		var block int
		if block, err = d.block(survey, person.Code); err != nil {
			return "", err
		}
		survey.answers(person, block) // a mistake ends before anything is asked or kept
		survey.public(person)
		if survey.Invited {
			if outcome := d.post("spent", survey.head(person.Code)); outcome != "unspent" {
				return outcome, nil
			}
		}
		body, err = d.keep(path, survey.seal(person, block, d.memos(survey, person, block), systemWord))
	}
	if err != nil {
		return "", err
	}
	if len(body) == 0 { // its bytes are no longer kept: they could show which report is of this device
		return "sent", nil
	}
	outcome = d.post("reports", body)
	if outcome == "sent" {
		err = d.replace(path, nil)
	}
	return outcome, err
}

// Asked are the questions that this person is asked: all, or those of the block that was drawn, once.
func (d *Device) Asked(survey *Survey, code string) (asked []*Asked, err error) {
	defer caught(&err)
	block, err := d.block(survey, code)
	if err != nil {
		return nil, err
	}
	return survey.asked(block), nil
}

// block is drawn before anything is asked, and kept: who draws again makes the draw depend on an answer.
func (d *Device) block(survey *Survey, code string) (int, error) {
	if survey.draws == nil {
		return 0, nil
	}
	if survey.Invited {
		return survey.blockOfCode(code), nil
	}
	return d.keptBlock(survey, survey.draws.drawn(systemWord()))
}

// keptBlock is the block that was drawn before under the same name; else this one, which is then kept.
func (d *Device) keptBlock(survey *Survey, block int) (int, error) {
	path := filepath.Join(d.folder, "block-"+survey.draw)
	kept, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		kept, err = d.keep(path, []byte(strconv.Itoa(block)))
	}
	if err != nil {
		return 0, err
	}
	block, err = strconv.Atoi(string(kept))
	right := err == nil && block >= 0 && block < len(survey.draws.blocks)
	require(right, "memo_altered", "block", "must be one of the blocks")
	return block, nil
}

// post sends bytes once. Only the collector's own reply counts: what a portal of a network says does not.
func (d *Device) post(address string, body []byte) string {
	reply, err := d.client.Post(d.url+address, "application/octet-stream", bytes.NewReader(body))
	if err != nil {
		return "unavailable"
	}
	defer reply.Body.Close()
	var said struct {
		Accepted, Spent *int
		Error           string
	}
	err = json.NewDecoder(io.LimitReader(reply.Body, 1<<16)).Decode(&said)
	switch {
	case err != nil:
		return "busy"
	case address == "spent" && reply.StatusCode == 200 && said.Spent != nil:
		return map[bool]string{true: "unspent", false: "spent"}[*said.Spent == 0]
	case address == "reports" && reply.StatusCode == 202 && said.Accepted != nil && *said.Accepted == 1:
		return "sent"
	case reply.StatusCode < 400 || reply.StatusCode >= 500 || said.Error == "":
		return "busy"
	case reply.StatusCode == 408 || reply.StatusCode == 429:
		return "busy"
	}
	refused := map[string]string{
		"closed": "closed", "not_open": "not-open", "not_invited": "not-invited", "other_study": "other-study",
	}
	if outcome, named := refused[said.Error]; named {
		return outcome
	}
	return "rejected"
}

// keep writes a file that must not exist, and returns what is kept under its name: these bytes, or
// those of another process that came first. They are on disk when it returns.
func (d *Device) keep(path string, content []byte) ([]byte, error) {
	temporary, err := d.written(content)
	if err != nil {
		return nil, err
	}
	defer os.Remove(temporary)
	if err := os.Link(temporary, path); os.IsExist(err) {
		return os.ReadFile(path)
	} else if err != nil {
		return nil, err
	}
	return content, d.flushed()
}

func (d *Device) replace(path string, content []byte) error {
	temporary, err := d.written(content)
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		return err
	}
	return d.flushed()
}

func (d *Device) written(content []byte) (string, error) {
	file, err := os.CreateTemp(d.folder, "new-") // which only this user can read
	if err != nil {
		return "", err
	}
	defer file.Close()
	if _, err = file.Write(content); err == nil {
		err = file.Sync()
	}
	return file.Name(), err
}

func (d *Device) flushed() error {
	folder, err := os.Open(d.folder)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync()
}

// memos are the permanent reports on a person's answers: those that are kept, and for other answers new
// ones, which are kept before it returns. All of them, or none where one has no room.
func (d *Device) memos(survey *Survey, person Person, block int) [][]byte {
	if survey.Values == 0 {
		return nil
	}
	if survey.draws != nil {
		kept, err := d.keptBlock(survey, block)
		require(err == nil, "memo_altered", "block", "cannot be read or kept")
		require(kept == block, "memo_other", "code", "asks another question than that of all rounds on this device")
	}
	indices, asked, programs := survey.answers(person, block), survey.asked(block), survey.programs(block)
	for i, q := range asked {
		d.memo(survey, q, programs[i], indices[i], false)
	}
	memos := [][]byte{}
	for i, q := range asked {
		memos = append(memos, d.memo(survey, q, programs[i], indices[i], true))
	}
	return memos
}

// memo is the permanent report on one answer. They lie in numbered places, one for each answer that a
// device may report on, so that no two processes draw one more than the study allows.
//
// A place holds a code of the answer that nobody can tell without the key, and the sealed report. The
// question, and not the round, names it: the next round finds it.
func (d *Device) memo(survey *Survey, q *Asked, program *Program, index uint64, draws bool) []byte {
	text, err := json.Marshal([]any{q.Name, q.domain, program.Memo.data})
	require(err == nil, "malformed", q.Name, "must be JSON")
	series := sha256.Sum256(append([]byte("warner memo question\n"), text...))
	code := d.coded("value", fmt.Sprintf("%x\n%d", series, index))
	block, _ := aes.NewCipher(d.coded("box", ""))
	box, _ := cipher.NewGCM(block)
	bound := append(series[:], code...)
	for place := uint64(0); place < survey.most(program); place++ {
		path := filepath.Join(d.folder, fmt.Sprintf("memo-%x-%d", series, place))
		kept, err := os.ReadFile(path)
		if os.IsNotExist(err) && !draws {
			return nil
		}
		if os.IsNotExist(err) {
			iv := make([]byte, box.NonceSize())
			if _, err := rand.Read(iv); err != nil {
				panic("the operating system gives no randomness")
			}
			sealed := box.Seal(nil, iv, program.Memo.Sample(index), bound)
			kept, err = d.keep(path, append(append(code, iv...), sealed...))
		}
		own := len(kept) >= len(code) && hmac.Equal(kept[:len(code)], code)
		whole := len(kept) == len(code)+box.NonceSize()+program.length+box.Overhead()
		require(err == nil && whole, "memo_altered", q.Name, "has a permanent report that cannot be read or kept")
		if own {
			iv, sealed := kept[len(code):len(code)+box.NonceSize()], kept[len(code)+box.NonceSize():]
			record, err := box.Open(nil, iv, sealed, bound)
			require(err == nil, "memo_altered", q.Name, "has a permanent report that was altered")
			return record
		}
	}
	require(false, "memo_full", q.Name, "has as many different answers as this device may report on")
	return nil
}

func (d *Device) coded(use, text string) []byte {
	mac := hmac.New(sha256.New, d.key)
	mac.Write([]byte("warner memo " + use + "\n" + text))
	return mac.Sum(nil)
}
