package server_test

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/internal/servicetest"
	"github.com/deedledger/deed/journal/jetstream"
	"github.com/deedledger/deed/ledger"
	"github.com/deedledger/deed/projections/projectionstest"
	"github.com/deedledger/deed/server/protocol"
	"github.com/deedledger/deed/signer"
)

func TestArtifactsByClass(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	large := bytes.Repeat([]byte("large "), 100_000) // three messages
	public, internal, restricted := []byte("public"), large, []byte("restricted")
	s.record(t, "TASK-1", "impl-a", "public", public)
	s.record(t, "TASK-1", "impl-a", "internal", internal)
	s.record(t, "TASK-1", "impl-a", "restricted", restricted)
	// Whoever saw a digest and records it as something else opens nothing.
	s.record(t, "TASK-2", "impl-b", "public", restricted)
	for _, actor := range []string{"", "impl-a", "impl-b", "audrey", "rita"} {
		if err := s.read(t, actor, public, false); err != nil {
			t.Errorf("%q reads what is public: %v", actor, err)
		}
	}
	wantRefusal(t, "nobody reads what is internal", s.read(t, "", internal, false), ledger.Refused, ledger.CodeSignature)
	for _, actor := range []string{"impl-a", "impl-b", "audrey", "ci"} {
		if err := s.read(t, actor, internal, false); err != nil {
			t.Errorf("%s reads what is internal: %v", actor, err)
		}
	}
	wantRefusal(t, "nobody reads what is restricted", s.read(t, "", restricted, false), ledger.Refused, ledger.CodeSignature)
	wantRefusal(t, "another implementer", s.read(t, "impl-b", restricted, false), ledger.Refused, ledger.CodeRule)
	for _, actor := range []string{"impl-a", "audrey", "ci", "rita", "olga", projectionstest.Founder} {
		if err := s.read(t, actor, restricted, false); err != nil {
			t.Errorf("%s reads what is restricted: %v", actor, err)
		}
	}

	s.Story.Do("TASK-2", projectionstest.Founder, &events.Quarantine{Digest: events.Sum(restricted).String(), Reason: "a token is in it"})
	s.tell(t)
	for _, actor := range []string{"", "impl-a", "audrey", "olga", projectionstest.Founder} {
		if class, _ := refusal(s.read(t, actor, restricted, false)); class != ledger.Refused {
			t.Errorf("%q reads what is quarantined", actor)
		}
		if actor != projectionstest.Founder {
			if class, _ := refusal(s.read(t, actor, restricted, true)); class != ledger.Refused {
				t.Errorf("%q reads what is quarantined, asking as an admin", actor)
			}
		}
	}
	if err := s.read(t, projectionstest.Founder, restricted, true); err != nil {
		t.Errorf("an admin reads what is quarantined: %v", err)
	}
}

func TestArtifactUploadRefuses(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	data := []byte("0123456789")
	good := ledger.ArtifactRequest{Operation: ledger.ArtifactPut, Digest: events.Sum(data).String(), Size: 10}
	unknown, err := signer.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	with := func(change func(*ledger.ArtifactRequest)) []byte {
		r := good
		change(&r)
		return sealed(t, r, s.Story.Key("impl-a"))
	}
	heartbeat, err := ledger.SealHeartbeat(ledger.Heartbeat{Ledger: servicetest.Name, Number: 1}, s.Story.Key("impl-a"))
	if err != nil {
		t.Fatal(err)
	}
	whole := with(func(*ledger.ArtifactRequest) {})
	for name, test := range map[string]struct {
		body []byte
		want ledger.Code
	}{
		"nothing": {nil, ledger.CodeSignature}, "junk": {[]byte("junk"), ledger.CodeSignature}, "unsigned": {body(t, good), ledger.CodeSignature},
		"cut": {whole[:len(whole)-2], ledger.CodeSignature}, "changed": {bytes.Replace(whole, []byte(`"sig":"`), []byte(`"sig":"AAAA`), 1), ledger.CodeSignature},
		"heartbeat":      {heartbeat, ledger.CodeSignature},
		"unknown key":    {sealed(t, good, unknown), ledger.CodeSignature},
		"not enrolled":   {sealed(t, good, s.Story.Key("rob")), ledger.CodeSignature},
		"auditor":        {sealed(t, good, s.Story.Key("audrey")), ledger.CodeRule},
		"another ledger": {with(func(r *ledger.ArtifactRequest) { r.Ledger = "other" }), ledger.CodeNotFound},
		"a read":         {with(func(r *ledger.ArtifactRequest) { r.Operation = ledger.ArtifactGet; r.Size = 0 }), ledger.CodeForm},
		"no operation":   {with(func(r *ledger.ArtifactRequest) { r.Operation = "" }), ledger.CodeForm},
		"no digest":      {with(func(r *ledger.ArtifactRequest) { r.Digest = "" }), ledger.CodeForm},
		"upper case":     {with(func(r *ledger.ArtifactRequest) { r.Digest = strings.ToUpper(r.Digest) }), ledger.CodeForm},
		"a path":         {with(func(r *ledger.ArtifactRequest) { r.Digest = "../" + r.Digest[3:] }), ledger.CodeForm},
		"less than none": {with(func(r *ledger.ArtifactRequest) { r.Size = -1 }), ledger.CodeForm},
		"a recipient":    {with(func(r *ledger.ArtifactRequest) { r.Recipient = strings.Repeat("0", 64) }), ledger.CodeForm},
		"too large":      {with(func(r *ledger.ArtifactRequest) { r.Size = artifactLimit + 1 }), ledger.CodeLimit},
		"far too large":  {with(func(r *ledger.ArtifactRequest) { r.Size = 1 << 52 }), ledger.CodeLimit},
	} {
		wantRefusal(t, name, s.asks(t, protocol.ArtifactBegin, test.body, &protocol.Upload{}), ledger.Refused, test.want)
	}
	for _, operation := range []string{protocol.ArtifactChunk, protocol.ArtifactCommit, protocol.ArtifactGet} {
		for _, junk := range []string{"", "junk", "[]", `{"more":1}`, `{"upload":1}`, "\xff", `{"digest":"x"} {}`} {
			wantRefusal(t, operation+" "+junk, s.asks(t, operation, []byte(junk), &protocol.Taken{}), ledger.Refused, ledger.CodeForm)
		}
	}
	wantRefusal(t, "chunk of no upload", s.chunk(t, "x", 0, data), ledger.Refused, ledger.CodeNotFound)
	wantRefusal(t, "commit of no upload", s.commit(t, ""), ledger.Refused, ledger.CodeNotFound)
	wantRefusal(t, "recorded without bytes", s.submitArtifact(t, data, 10), ledger.Refused, ledger.CodeNotFound)
	if err := s.put(t, "impl-a", data); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, "recorded with another size", s.submitArtifact(t, data, 11), ledger.Refused, ledger.CodeRule)
	wantRefusal(t, "read before it is recorded", s.read(t, "impl-a", data, false), ledger.Refused, ledger.CodeNotFound)
	s.record(t, "TASK-1", "impl-a", "public", data)

	s.Story.Do("", projectionstest.Founder, &events.Revocation{Actor: "impl-a", Reason: "lost"})
	s.tell(t)
	wantRefusal(t, "a revoked key uploads", s.put(t, "impl-a", []byte("x")), ledger.Refused, ledger.CodeSignature)
	wantRefusal(t, "a revoked key reads", s.read(t, "impl-a", data, false), ledger.Refused, ledger.CodeSignature)
}

// submitArtifact submits an event about bytes that is not in the story.
func (s *shelf) submitArtifact(t *testing.T, data []byte, size int64) error {
	t.Helper()
	e, err := s.Story.Sealed("TASK-1", "impl-a", &events.Artifact{
		Digest: events.Sum(data).String(), Size: size, MediaType: "text/plain", Class: "public", Name: "n"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.client.Submit(servicetest.Within(t), e, false)
	return err
}

func TestArtifactChunks(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	data := []byte("0123456789")
	for name, test := range map[string]struct {
		spoil func(upload string) error
		class ledger.Class
		code  ledger.Code
	}{
		"chunk from later on": {func(u string) error { return s.chunk(t, u, 5, data[5:]) }, ledger.Conflict, ledger.CodeHead},
		"chunk before":        {func(u string) error { return s.chunk(t, u, -1, data) }, ledger.Conflict, ledger.CodeHead},
		"empty chunk":         {func(u string) error { return s.chunk(t, u, 0, nil) }, ledger.Refused, ledger.CodeLimit},
		"chunk too large":     {func(u string) error { return s.chunk(t, u, 0, make([]byte, protocol.MaxArtifactChunk+1)) }, ledger.Refused, ledger.CodeLimit},
		"more than announced": {func(u string) error { return s.chunk(t, u, 0, append(data[:10:10], 'x')) }, ledger.Refused, ledger.CodeLimit},
		"too few":             {func(u string) error { return errors.Join(s.chunk(t, u, 0, data[:9]), s.commit(t, u)) }, ledger.Refused, ledger.CodeForm},
		"none":                {func(u string) error { return s.commit(t, u) }, ledger.Refused, ledger.CodeForm},
		"other bytes":         {func(u string) error { return errors.Join(s.chunk(t, u, 0, []byte("9876543210")), s.commit(t, u)) }, ledger.Refused, ledger.CodeForm},
	} {
		wantRefusal(t, name, test.spoil(s.begin(t, "impl-a", data)), test.class, test.code)
		wantRefusal(t, name+": recorded", s.submitArtifact(t, data, 10), ledger.Refused, ledger.CodeNotFound)
	}
	// A chunk that comes twice, as after a lost answer, is told where to go on.
	u := s.begin(t, "impl-a", data)
	if err := s.chunk(t, u, 0, data[:4]); err != nil {
		t.Fatal(err)
	}
	err := s.chunk(t, u, 0, data[:4])
	if r, ok := errors.AsType[*ledger.Refusal](err); !ok || r.Class != ledger.Conflict || r.Sequence != 4 {
		t.Errorf("the same chunk again: %v", err)
	}
	// One actor's many uploads push out its own oldest, nobody else's.
	other := s.begin(t, "impl-b", []byte("other"))
	for i := range 4 {
		s.begin(t, "impl-a", fmt.Append(nil, i))
	}
	wantRefusal(t, "the oldest of five", s.chunk(t, u, 4, data[4:]), ledger.Refused, ledger.CodeNotFound)
	if err := errors.Join(s.chunk(t, other, 0, []byte("other")), s.commit(t, other)); err != nil {
		t.Errorf("another actor's upload: %v", err)
	}
	wantRefusal(t, "chunk after commit", s.chunk(t, other, 5, []byte("x")), ledger.Refused, ledger.CodeNotFound)
	wantRefusal(t, "commit after commit", s.commit(t, other), ledger.Refused, ledger.CodeNotFound)
	// Two uploads of the same at once: both are done, one is kept.
	first, second := s.begin(t, "impl-a", data), s.begin(t, "impl-b", data)
	for _, u := range []string{first, second} {
		if err := s.chunk(t, u, 0, data); err != nil {
			t.Fatal(err)
		}
	}
	var both sync.WaitGroup
	for _, u := range []string{first, second} {
		both.Go(func() {
			if err := s.commit(t, u); err != nil {
				t.Errorf("commit one of two: %v", err)
			}
		})
	}
	both.Wait()
	s.record(t, "TASK-1", "impl-a", "internal", data)
	if err := s.read(t, "rita", data, false); err != nil {
		t.Error(err)
	}
}

// TestArtifactReadRefuses: hostile reads, and what another connection hears.
func TestArtifactReadRefuses(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	secret, other := bytes.Repeat([]byte("secret "), 20_000), []byte("other")
	s.record(t, "TASK-1", "impl-a", "restricted", secret)
	s.record(t, "TASK-1", "impl-b", "restricted", other)
	recipient := strings.Repeat("09", 32)
	request := func(change func(*ledger.ArtifactRequest), actor string) string {
		r := ledger.ArtifactRequest{Operation: ledger.ArtifactGet, Digest: events.Sum(secret).String(), Recipient: recipient}
		change(&r)
		return string(sealed(t, r, s.Story.Key(actor)))
	}
	same := func(*ledger.ArtifactRequest) {}
	for name, test := range map[string]struct {
		fetch protocol.Fetch
		want  ledger.Code
	}{
		"unsigned":                {protocol.Fetch{}, ledger.CodeSignature},
		"junk for a request":      {protocol.Fetch{Request: "junk"}, ledger.CodeSignature},
		"another actor's request": {protocol.Fetch{Request: request(same, "impl-b")}, ledger.CodeRule},
		"not enrolled":            {protocol.Fetch{Request: request(same, "rob")}, ledger.CodeSignature},
		"request for one's own":   {protocol.Fetch{Request: request(func(r *ledger.ArtifactRequest) { r.Digest = events.Sum(other).String() }, "impl-b")}, ledger.CodeForm},
		"request for an upload":   {protocol.Fetch{Request: request(func(r *ledger.ArtifactRequest) { r.Operation, r.Recipient = ledger.ArtifactPut, "" }, "impl-a")}, ledger.CodeForm},
		"no recipient":            {protocol.Fetch{Request: request(func(r *ledger.ArtifactRequest) { r.Recipient = "" }, "impl-a")}, ledger.CodeForm},
		"half a recipient":        {protocol.Fetch{Request: request(func(r *ledger.ArtifactRequest) { r.Recipient = recipient[:32] }, "impl-a")}, ledger.CodeForm},
		"a weak recipient":        {protocol.Fetch{Request: request(func(r *ledger.ArtifactRequest) { r.Recipient = strings.Repeat("0", 64) }, "impl-a")}, ledger.CodeForm},
		"before the start":        {protocol.Fetch{Offset: -1, Request: request(same, "impl-a")}, ledger.CodeForm},
		"past the end":            {protocol.Fetch{Offset: int64(len(secret)) + 1, Request: request(same, "impl-a")}, ledger.CodeForm},
	} {
		test.fetch.Digest = events.Sum(secret).String()
		wantRefusal(t, name, s.asks(t, protocol.ArtifactGet, body(t, test.fetch), &protocol.Piece{}), ledger.Refused, test.want)
	}
	// Every client may listen where every answer goes: it hears no byte of it.
	spy := newWire(t, s.Ledger, s.ConnectedUrl())
	heard, err := spy.SubscribeSync("_INBOX.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := spy.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := s.read(t, "impl-a", secret, false); err != nil {
		t.Fatal(err)
	}
	m, err := heard.NextMsgWithContext(servicetest.Within(t))
	if err != nil {
		t.Fatal(err)
	}
	var piece protocol.Piece
	if err := protocol.Decode(m.Data, m.Header.Get(protocol.HeaderEncoding) == "gzip", &piece); err != nil {
		t.Fatal(err)
	}
	if len(piece.Data) < len(secret) || bytes.Contains(piece.Data, []byte("secret")) {
		t.Errorf("another client hears %d bytes of the artifact", len(piece.Data))
	}
}

// TestArtifactServiceKilled: a service that dies in an upload leaves nothing
// that anybody sees; what was recorded is there, damage is noticed.
func TestArtifactServiceKilled(t *testing.T) {
	t.Parallel()
	l := servicetest.New(t)
	l.Story.Enroll("impl-a")
	l.Story.Do("TASK-1", projectionstest.Founder, projectionstest.Contract(1))
	kept, lost := bytes.Repeat([]byte("kept"), 100_000), bytes.Repeat([]byte("lost"), 100_000)
	if err := os.WriteFile(filepath.Join(l.Folder.Dir, ".artifact-1"), []byte("left"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := startProcess(t, l.Folder.Dir, "127.0.0.1:0")
	s := &shelf{wire: newWire(t, l, p.url), Ledger: l, client: servicetest.Dial(t, l.Config(t, p.url, ""))}
	s.tell(t)
	s.record(t, "TASK-1", "impl-a", "internal", kept)
	u := s.begin(t, "impl-a", lost)
	if err := s.chunk(t, u, 0, lost[:protocol.MaxArtifactChunk]); err != nil {
		t.Fatal(err)
	}
	p.kill(t)

	p = startProcess(t, l.Folder.Dir, "127.0.0.1:0")
	defer p.kill(t)
	s.wire, s.client = newWire(t, l, p.url), servicetest.Dial(t, l.Config(t, p.url, ""))
	wantRefusal(t, "the rest of the upload", s.chunk(t, u, protocol.MaxArtifactChunk, lost[protocol.MaxArtifactChunk:]), ledger.Refused, ledger.CodeNotFound)
	wantRefusal(t, "its record", s.submitArtifact(t, lost, int64(len(lost))), ledger.Refused, ledger.CodeNotFound)
	if err := s.read(t, "impl-a", kept, false); err != nil {
		t.Errorf("what was recorded: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(l.Folder.Dir, ".artifact-*")); err != nil || len(left) > 0 {
		t.Errorf("the folder has %v, error %v", left, err)
	}
	s.record(t, "TASK-1", "impl-a", "internal", lost)
	if err := s.read(t, "impl-a", lost, false); err != nil {
		t.Errorf("uploaded again: %v", err)
	}
}

// TestArtifactsOutside: two instances on an operator's NATS; requests reach
// whichever writes, and the other one goes on.
func TestArtifactsOutside(t *testing.T) {
	t.Parallel()
	o := single(t)
	l := servicetest.NewExternal(t, o)
	first := runExternal(t, servicetest.ExternalOptions(l.Folder.Dir, o))
	awaitTrue(t, "leading", first.Writer().Leading)
	runExternal(t, servicetest.ExternalOptions(l.Twin(t).Dir, o))
	l.Story.Enroll("impl-a")
	l.Story.Do("TASK-1", projectionstest.Founder, projectionstest.Contract(1))
	s := &shelf{Ledger: l, client: servicetest.Dial(t, l.ExternalConfig(t, o, filepath.Join(t.TempDir(), "head")))}
	s.tell(t)
	data := bytes.Repeat([]byte("large "), 200_000)
	s.record(t, "TASK-1", "impl-a", "internal", data)
	if err := s.read(t, "impl-a", data, false); err != nil {
		t.Error(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.read(t, "impl-a", data, false); err != nil {
		t.Errorf("after a takeover: %v", err)
	}
	service, err := o.Service.Connect(o.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	store, err := jetstream.NewObjects(service, jetstream.Config{Ledger: servicetest.Name})
	if err != nil {
		t.Fatal(err)
	}
	if size, err := store.Stat(servicetest.Within(t), events.Sum(data).String()); err != nil || size != int64(len(data)) {
		t.Errorf("in the bucket: %d, %v", size, err)
	}
}

// TestArtifactSweep: what was uploaded and is named by no event goes, what any
// task names stays.
func TestArtifactSweep(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	recorded, loose := []byte("recorded"), []byte("loose")
	s.record(t, "TASK-2", "impl-a", "internal", recorded)
	if err := s.put(t, "impl-a", loose); err != nil {
		t.Fatal(err)
	}
	dying := s.begin(t, "impl-a", []byte("dying"))
	if err := s.chunk(t, dying, 0, []byte("dy")); err != nil {
		t.Fatal(err)
	}
	if n, err := s.local.SweepArtifacts(servicetest.Within(t), time.Now().Add(-time.Hour)); n != 0 || err != nil {
		t.Errorf("sweep of what is young: %d, %v", n, err)
	}
	if n, err := s.local.SweepArtifacts(servicetest.Within(t), time.Now().Add(time.Hour)); n != 2 || err != nil {
		t.Errorf("sweep: %d, %v, want an artifact and the remains of an upload", n, err)
	}
	wantRefusal(t, "the loose one is recorded", s.submitArtifact(t, loose, int64(len(loose))), ledger.Refused, ledger.CodeNotFound)
	if err := s.read(t, "impl-a", recorded, false); err != nil {
		t.Error(err)
	}
	if err := s.put(t, "impl-a", loose); err != nil {
		t.Fatal(err)
	}
	if err := s.submitArtifact(t, loose, int64(len(loose))); err != nil {
		t.Errorf("uploaded again: %v", err)
	}
}

func TestPieces(t *testing.T) {
	for _, bad := range []string{"", "x", strings.Repeat("0", 62), strings.Repeat("0", 64), strings.Repeat("zz", 32)} {
		if _, err := protocol.SealPiece(bad, "d", 0, []byte("x")); err == nil {
			t.Errorf("sealed to %q", hex.EncodeToString([]byte(bad)))
		}
	}
}
