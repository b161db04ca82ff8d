package cli_test

import (
	"context"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rogpeppe/go-internal/testscript"

	ours "github.com/deedledger/deed/journal/jetstream"
	"github.com/deedledger/deed/journal/jetstream/embedded"
	"github.com/deedledger/deed/server"
)

// loseBytes removes the chunks of every artifact of a ledger whose service does
// not run, as a broken disk may.
func loseBytes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: losebytes FOLDER")
	}
	f, err := server.OpenFolder(ts.MkAbs(args[0]))
	ts.Check(err)
	s, err := embedded.Start(embedded.Config{
		Ledger: f.Ledger, StoreDir: f.StoreDir(),
		ServicePassword: strings.Repeat("s", embedded.MinPasswordBytes), ClientPassword: strings.Repeat("c", embedded.MinPasswordBytes),
	})
	ts.Check(err)
	defer func() { ts.Check(s.Close()) }()
	nc, err := s.Connect()
	ts.Check(err)
	js, err := jetstream.New(nc)
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	bucket := ours.ObjectBucket(f.Ledger)
	stream, err := js.Stream(ctx, "OBJ_"+bucket)
	ts.Check(err)
	ts.Check(stream.Purge(ctx, jetstream.WithPurgeSubject("$O."+bucket+".C.>")))
}
