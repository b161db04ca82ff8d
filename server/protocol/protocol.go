// Package protocol holds what a service and its clients say to each other
// over NATS: subjects, headers and the JSON of replies.
//
// A submission's body is the exported event, byte for byte; everything else
// about it is in headers. Every reply is one [Reply]. A reply larger than
// [CompressAbove] is gzipped and says so in the header Content-Encoding.
package protocol

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ServiceName is the name of the micro service.
const ServiceName = "deed"

// The headers of requests and replies.
const (
	HeaderKnown    = "Deed-Known"   // size of the newest head the client knows, decimal
	HeaderDryRun   = "Deed-Dry-Run" // "true"
	HeaderEncoding = "Content-Encoding"
)

// The queries.
const (
	QueryStatus   = "status"
	QueryTasks    = "tasks"
	QueryTask     = "task"
	QueryRegistry = "registry"
	QueryEvent    = "event"
	QueryPacket   = "packet"
	QueryProof    = "proof"
	// QueryConsistency asks how one head continues another.
	QueryConsistency = "consistency"
)

// CompressAbove is the size in bytes above which a reply is compressed, and
// MaxReply bounds a reply once expanded.
const (
	CompressAbove = 32 << 10
	MaxReply      = 64 << 20
)

// SubjectSubmit returns the subject on which a ledger takes events.
func SubjectSubmit(name string) string { return "deed." + name + ".v1.submit" }

// SubjectRenew returns the subject on which a ledger takes heartbeats.
func SubjectRenew(name string) string { return "deed." + name + ".v1.renew" }

// SubjectForward returns the subject on which one instance of a ledger's
// service takes what others hand on. It lies in the service's account alone.
func SubjectForward(name, instance, operation string) string {
	return "deed." + name + ".fw." + instance + "." + operation
}

// SubjectQuery returns the subject of a query.
func SubjectQuery(name, query string) string { return "deed." + name + ".v1.query." + query }

// Reply is the answer to any request: exactly one member is present.
type Reply struct {
	Refusal *ledger.Refusal `json:"refusal,omitempty"`
	Data    jsontext.Value  `json:"data,omitzero"`
}

// Submitted is the data of a reply to a submission.
type Submitted struct {
	ledger.Ack
	Consistency []string `json:"consistency,omitempty"` // hex hashes
}

// Ask is the body of a query.
type Ask struct {
	Task  string          `json:"task,omitzero"`
	Event string          `json:"event,omitzero"`
	At    events.Position `json:"at,omitzero"`
	// Packet is "resume" or "review"; Actor and Role are the reader's.
	Packet string      `json:"packet,omitzero"`
	Actor  string      `json:"actor,omitzero"`
	Role   events.Role `json:"role,omitzero"`
	Limit  int64       `json:"limit,omitzero"`
	// Known asks for a consistency proof from this size; QueryConsistency to
	// Size, the others to the head that they answer with.
	Known uint64 `json:"known,omitzero"`
	Size  uint64 `json:"size,omitzero"`
	// AtLeast lets the answer wait, for some seconds, until it reflects this
	// position; a [ledger.RuleReach] refusal when it does not come.
	AtLeast events.Position `json:"atLeast,omitzero"`
}

// Status is the answer to QueryStatus.
type Status struct {
	Ledger   string          `json:"ledger"`
	Identity string          `json:"identity"`
	Service  string          `json:"service"` // the service key's text
	Position events.Position `json:"position"`
	Tasks    int             `json:"tasks"`
	Head     string          `json:"head"`
	// Consistency leads from the asked-for size to Head, hex hashes.
	Consistency []string `json:"consistency,omitempty"`
	Broken      string   `json:"broken,omitzero"`
	Version     string   `json:"version"`
	// Clock is the service's admission clock, unix ns.
	Clock int64 `json:"clock,string,omitzero"`
	// Instance is who answers, and Writer who writes, where more than one
	// instance may serve the ledger.
	Instance string `json:"instance,omitzero"`
	Writer   string `json:"writer,omitzero"`
}

// Summary is one task in the answer to QueryTasks.
type Summary struct {
	Task     string              `json:"task"`
	State    projections.State   `json:"state"`
	Goal     string              `json:"goal"`
	Attempt  string              `json:"attempt,omitzero"`
	Actor    string              `json:"actor,omitzero"` // lease holder
	Waiting  projections.Waiting `json:"waiting_on"`
	Position events.Position     `json:"position"`
	Since    int64               `json:"since,string"`
	// Admitted is the stamp of the last event, Heard that of the newest one by
	// the holder of the live lease; 0 without a lease.
	Admitted int64 `json:"admitted,string"`
	Heard    int64 `json:"heard,string,omitzero"`
	// Overdue is how many whole terms the task has waited; 0 before its
	// deadline.
	Overdue int64 `json:"overdue,omitzero"`
	// Risk is the risk tier of the contract.
	Risk string `json:"risk,omitzero"`
	// Commits are those that the task is about: base, result, delivery.
	Commits []string `json:"commits,omitempty"`
	// Actors took part in the work.
	Actors []string `json:"actors,omitempty"`
	// Claims are the purposes for which a lease waits to be claimed.
	Claims   []events.Purpose         `json:"claims,omitempty"`
	Reserved *projections.Reservation `json:"reserved,omitempty"`
}

// Tasks is the answer to QueryTasks.
type Tasks struct {
	Position events.Position `json:"position"`
	// Clock is the service's admission clock, unix ns.
	Clock int64     `json:"clock,string"`
	Tasks []Summary `json:"tasks"`
}

// TaskState is the answer to QueryTask: a task and what is needed to act on it.
type TaskState struct {
	Position events.Position     `json:"position"`
	Task     *projections.Task   `json:"task"`
	Policy   string              `json:"policy"`
	Next     []ledger.NextEvent  `json:"next"`
	Waiting  projections.Waiting `json:"waiting_on"`
	Items    []projections.Item  `json:"items"`
}

// RegistryState is the answer to QueryRegistry.
type RegistryState struct {
	Position events.Position      `json:"position"`
	Registry projections.Registry `json:"registry"`
}

// Located is the answer to QueryEvent.
type Located struct {
	Position events.Position `json:"position"`
	Hash     string          `json:"hash"`
}

// Packet is the answer to QueryPacket. The head travels beside the packet,
// outside its digest.
type Packet struct {
	JSON     string `json:"json"`
	Markdown string `json:"markdown"`
	Digest   string `json:"digest"`
	Head     string `json:"head"`
	// Position is the one that the packet reflects; Head may be further on.
	Position events.Position `json:"position"`
}

// Proof is the answer to QueryProof: that an event lies under a head.
type Proof struct {
	Position  events.Position `json:"position"`
	Head      string          `json:"head"`
	Inclusion []string        `json:"inclusion"`
}

// Consistency is the answer to QueryConsistency: that the tree of size Size
// begins with that of size Known.
type Consistency struct {
	Consistency []string `json:"consistency"` // hex hashes, none for equal sizes
}

// Hashes turns hashes to hex.
func Hashes(list []events.Hash) []string {
	out := make([]string, len(list))
	for i, h := range list {
		out[i] = h.String()
	}
	return out
}

// ParseHashes is the inverse of Hashes.
func ParseHashes(list []string) ([]events.Hash, error) {
	out := make([]events.Hash, len(list))
	for i, s := range list {
		h, err := events.ParseHash(s)
		if err != nil {
			return nil, fmt.Errorf("parse proof: %w", err)
		}
		out[i] = h
	}
	return out, nil
}

// Encode returns the bytes of a reply and whether they are compressed.
func Encode(data any, err error) (body []byte, compressed bool) {
	var reply Reply
	if err == nil {
		reply.Data, err = json.Marshal(data)
	}
	if err != nil {
		reply = Reply{Refusal: ledger.AsRefusal(err)}
	}
	body, err = json.Marshal(reply)
	if err != nil {
		body = []byte(`{"refusal":{"class":"unavailable","code":"busy","rule":"service","text":"answer cannot be encoded"}}`)
	}
	if len(body) <= CompressAbove {
		return body, false
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(body); err != nil || z.Close() != nil {
		return body, false
	}
	return b.Bytes(), true
}

// classes are those that a refusal can have. Read-only.
var classes = [...]ledger.Class{ledger.Refused, ledger.Conflict, ledger.Unknown, ledger.Corrupt, ledger.Unavailable}

// ErrReply says that an answer is not what a service sends.
var ErrReply = errors.New("not a reply of a deed service")

// Decode parses a reply into data. A refusal in it is returned as the error.
func Decode(body []byte, compressed bool, data any) error {
	if compressed {
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return fmt.Errorf("%w: %w", ErrReply, err)
		}
		if body, err = io.ReadAll(io.LimitReader(z, MaxReply)); err != nil {
			return fmt.Errorf("%w: %w", ErrReply, err)
		}
	}
	var reply Reply
	if err := json.Unmarshal(body, &reply); err != nil {
		return fmt.Errorf("%w: %w", ErrReply, err)
	}
	if r := reply.Refusal; r != nil {
		if !slices.Contains(classes[:], r.Class) || len(reply.Data) > 0 {
			return fmt.Errorf("%w: refusal of class %q", ErrReply, r.Class)
		}
		return r
	}
	if err := json.Unmarshal(reply.Data, data); err != nil {
		return fmt.Errorf("%w: %w", ErrReply, err)
	}
	return nil
}
