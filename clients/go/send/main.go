// Send the answers of one person to a collector, once:
//
//	send [-digest HEX] [-folder FOLDER] [-for 10m] URL < person.json
//
// person.json is {"answers": {..}, "public": {..}, "code": ".."}; the last two where the survey asks for
// them. It repeats the same bytes until they have arrived or the time is over, and prints what became of
// them. The folder belongs to one person; whoever calls again with it sends what is kept there.
package main

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"warner"
)

func main() {
	digest := flag.String("digest", "", "the SHA-256 of the survey, as its page shows it")
	folder := flag.String("folder", "warner", "where this person's report is kept until it was sent")
	limit := flag.Duration("for", 10*time.Minute, "how long to try")
	flag.Parse()
	outcome, err := run(flag.Arg(0), *folder, *digest, *limit)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	fmt.Println(outcome)
	if outcome != "sent" {
		os.Exit(1)
	}
}

func run(address, folder, digest string, limit time.Duration) (string, error) {
	var person warner.Person
	decoder := json.NewDecoder(os.Stdin)
	decoder.UseNumber()
	decoder.DisallowUnknownFields()
	if decoder.Decode(&person) != nil { // whose error could show an answer
		return "", fmt.Errorf("standard input must be JSON with answers, public and code")
	}
	key, err := keyOf(folder)
	if err != nil {
		return "", err
	}
	device, err := warner.Open(address, folder, key)
	if err != nil {
		return "", err
	}
	var survey *warner.Survey
	outcome := "unavailable"
	for wait, end := 2*time.Second, time.Now().Add(limit); ; wait = min(2*wait, 5*time.Minute) {
		if survey == nil {
			survey, err = device.Survey(digest)
			if _, refused := err.(*warner.Refusal); refused {
				return "", err
			}
		}
		if survey != nil {
			if outcome, err = device.Send(survey, person); err != nil {
				return "", err
			}
		}
		again := outcome == "unavailable" || outcome == "busy" || outcome == "not-open"
		pause := spread(wait)
		if !again || time.Now().Add(pause).After(end) {
			return outcome, nil
		}
		time.Sleep(pause)
	}
}

// keyOf is the key of an installation, made once. A device with a key store keeps it there instead.
func keyOf(folder string) ([]byte, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(folder, "key")
	if key, err := os.ReadFile(path); err == nil || !os.IsNotExist(err) {
		return key, err
	}
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err = file.Write(key); err == nil {
		err = file.Sync()
	}
	return key, err
}

// spread is a wait, so that not all devices come back in one moment.
func spread(wait time.Duration) time.Duration {
	var word [4]byte
	rand.Read(word[:])
	return wait*3/4 + wait/2*time.Duration(binary.LittleEndian.Uint32(word[:])>>8)/(1<<24)
}

func min(a, b time.Duration) time.Duration {
	if a < b {
		return a
	}
	return b
}
