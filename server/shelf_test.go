package server_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/deedledger/deed/client"
	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/internal/servicetest"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections/projectionstest"
	"github.com/deedledger/deed/server"
	"github.com/deedledger/deed/server/protocol"
	"github.com/deedledger/deed/signer"
	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
)

// shelf is a service with a cast, a task, and a raw connection to it.
type shelf struct {
	wire
	*servicetest.Ledger
	local  *server.Local // nil for one in another process
	client *client.Client
	told   int // events of the story that the service has
}

const artifactLimit = 1 << 20

func newShelf(t *testing.T) *shelf {
	t.Helper()
	l := servicetest.New(t)
	o := servicetest.Options(l.Folder.Dir)
	o.ArtifactLimit = artifactLimit
	local, err := server.Run(servicetest.Within(t), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := local.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	s := &shelf{wire: newWire(t, l, local.URL()), Ledger: l, local: local, client: servicetest.Dial(t, l.Config(t, local.URL(), ""))}
	for _, actor := range []string{"audrey", "ci", "impl-a", "impl-b", "olga", "rita"} {
		l.Story.Enroll(actor)
	}
	for _, task := range []string{"TASK-1", "TASK-2"} {
		l.Story.Do(task, projectionstest.Founder, projectionstest.Contract(1))
	}
	s.tell(t)
	return s
}

// tell submits what the story said.
func (s *shelf) tell(t *testing.T) {
	t.Helper()
	for ; s.told < len(s.Story.Said); s.told++ {
		if _, err := s.client.Submit(servicetest.Within(t), s.Story.Said[s.told], false); err != nil {
			t.Fatalf("submit %s: %v", s.Story.Said[s.told].Type, err)
		}
	}
}

// put uploads as an actor.
func (s *shelf) put(t *testing.T, actor string, data []byte) error {
	t.Helper()
	_, err := s.client.PutArtifact(servicetest.Within(t), bytes.NewReader(data), events.Sum(data).String(), int64(len(data)), s.Story.Key(actor))
	return err
}

// record uploads and records.
func (s *shelf) record(t *testing.T, task, actor, class string, data []byte) {
	t.Helper()
	if err := s.put(t, actor, data); err != nil {
		t.Fatalf("put: %v", err)
	}
	s.Story.Do(task, actor, &events.Artifact{Digest: events.Sum(data).String(), Size: int64(len(data)), MediaType: "text/plain", Class: class, Name: "log"})
	s.tell(t)
}

// read returns the bytes as an actor gets them, "" for one without a key.
func (s *shelf) read(t *testing.T, actor string, data []byte, quarantined bool) error {
	t.Helper()
	var key *signer.Key
	if actor != "" {
		k := s.Story.Key(actor)
		key = &k
	}
	var got bytes.Buffer
	_, err := s.client.GetArtifact(servicetest.Within(t), &got, events.Sum(data).String(), key, quarantined)
	if err == nil && !bytes.Equal(got.Bytes(), data) {
		return fmt.Errorf("got %d other bytes", got.Len())
	}
	return err
}

func (s *shelf) subject(operation string) string {
	return protocol.SubjectArtifact(servicetest.Name, operation)
}

// asks sends one request about an artifact and decodes its answer.
func (s *shelf) asks(t *testing.T, operation string, body []byte, out any) error {
	t.Helper()
	reply, err := s.RequestMsgWithContext(servicetest.Within(t), &nats.Msg{Subject: s.subject(operation), Data: body})
	if err != nil {
		t.Fatalf("%s: no answer: %v", operation, err)
	}
	return protocol.Decode(reply.Data, reply.Header.Get(protocol.HeaderEncoding) == "gzip", out)
}

func body(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func sealed(t *testing.T, r ledger.ArtifactRequest, key signer.Key) []byte {
	t.Helper()
	if r.Ledger == "" {
		r.Ledger = servicetest.Name
	}
	envelope, err := ledger.SealArtifactRequest(r, key)
	if err != nil {
		t.Fatal(err)
	}
	return envelope
}

// begin starts an upload of some data by hand.
func (s *shelf) begin(t *testing.T, actor string, data []byte) string {
	t.Helper()
	var u protocol.Upload
	request := ledger.ArtifactRequest{Operation: ledger.ArtifactPut, Digest: events.Sum(data).String(), Size: int64(len(data))}
	if err := s.asks(t, protocol.ArtifactBegin, sealed(t, request, s.Story.Key(actor)), &u); err != nil || u.Upload == "" {
		t.Fatalf("begin: %+v, %v", u, err)
	}
	return u.Upload
}

func (s *shelf) chunk(t *testing.T, upload string, offset int64, data []byte) error {
	t.Helper()
	return s.asks(t, protocol.ArtifactChunk, body(t, protocol.Chunk{Upload: upload, Offset: offset, Data: data}), &protocol.Taken{})
}

func (s *shelf) commit(t *testing.T, upload string) error {
	t.Helper()
	return s.asks(t, protocol.ArtifactCommit, body(t, protocol.Commit{Upload: upload}), &protocol.Taken{})
}

func wantRefusal(t *testing.T, what string, err error, class ledger.Class, code ledger.Code) {
	t.Helper()
	if c, k := refusal(err); c != class || k != code {
		t.Errorf("%s: %v, want %s %s", what, err, class, code)
	}
}
