package jetstream

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/deedledger/deed/events"
	"github.com/deedledger/deed/journal"
)

func TestClassify(t *testing.T) {
	api := func(code natsjs.ErrorCode, text string) error {
		return fmt.Errorf("nats: %w", &natsjs.APIError{ErrorCode: code, Description: text})
	}
	for _, test := range []struct {
		err  error
		want error
	}{
		{api(10071, "wrong last sequence: 7"), journal.ErrConflict},
		{api(10164, "wrong last sequence"), journal.ErrConflict},
		{api(10054, "message size exceeds maximum allowed"), journal.ErrRefused},
		{api(10097, "header size exceeds maximum allowed of 64k"), journal.ErrRefused},
		{api(10109, "invalid operation on sealed stream"), journal.ErrRefused},
		{api(10060, "expected stream does not match"), journal.ErrRefused},
		{api(10111, "rollup not permitted"), journal.ErrRefused},
		{api(10002, "resource limits exceeded for account"), journal.ErrRefused},
		{api(10023, "insufficient resources"), journal.ErrRefused},
		{api(10028, "insufficient memory resources available"), journal.ErrRefused},
		{api(10047, "insufficient storage resources available"), journal.ErrRefused},
		{api(10077, "maximum messages exceeded"), journal.ErrRefused},
		{api(10077, "maximum bytes exceeded"), journal.ErrRefused},
		{api(10077, "maximum messages per subject exceeded"), journal.ErrRefused},
		{api(10077, "write /x/1.blk: no space left on device"), journal.ErrUnknown},
		{api(10077, "sync /x/1.blk: input/output error"), journal.ErrUnknown},
		{api(10167, "too many requests"), journal.ErrUnknown},
		{api(10008, "JetStream system temporarily unavailable"), journal.ErrUnknown},
		{api(10163, "expected last sequence per subject temporarily unavailable"), journal.ErrUnknown},
		{api(10118, "stream is offline"), journal.ErrUnknown},
		{api(10063, "expected stream sequence does not match"), journal.ErrUnknown},
		{api(65000, "a code of a later server"), journal.ErrUnknown},
		{natsjs.ErrNoStreamResponse, journal.ErrUnknown},
		{natsjs.ErrInvalidJSAck, journal.ErrUnknown},
		{nats.ErrConnectionClosed, journal.ErrUnknown},
		{nats.ErrDisconnected, journal.ErrUnknown},
		{context.DeadlineExceeded, journal.ErrUnknown},
		{context.Canceled, journal.ErrUnknown},
	} {
		got := classify(test.err, journal.Expect{Last: 3, SubjectLast: 2})
		for _, class := range []error{journal.ErrConflict, journal.ErrRefused, journal.ErrUnknown, journal.ErrCorrupt, journal.ErrDuplicate} {
			if errors.Is(got, class) != errors.Is(class, test.want) {
				t.Errorf("%v: is %v = %v", test.err, class, errors.Is(got, class))
			}
		}
		if c, ok := errors.AsType[*journal.ConflictError](got); ok {
			// The number in the text may be the subject's.
			a, _ := errors.AsType[*natsjs.APIError](test.err)
			if c.Last != 0 || c.Expect.Last != 3 || c.InFlight != (a.ErrorCode == 10164) {
				t.Errorf("%v: %+v", test.err, c)
			}
		}
	}
}

func TestCheckAck(t *testing.T) {
	m, e := journal.Message{ID: "m"}, journal.Expect{Last: 6, SubjectLast: 2}
	for _, test := range []struct {
		ack  natsjs.PubAck
		want error
	}{
		{natsjs.PubAck{Stream: "DEED_test", Sequence: 7}, nil},
		{natsjs.PubAck{Stream: "DEED_test", Sequence: 7, Duplicate: true}, journal.ErrDuplicate},
		{natsjs.PubAck{Stream: "DEED_test", Sequence: 3, Duplicate: true}, journal.ErrDuplicate},
		{natsjs.PubAck{Stream: "DEED_test", Sequence: 6}, journal.ErrCorrupt},
		{natsjs.PubAck{Stream: "DEED_test", Sequence: 8}, journal.ErrCorrupt},
		{natsjs.PubAck{Stream: "DEED_test"}, journal.ErrCorrupt},
		{natsjs.PubAck{Stream: "OTHER", Sequence: 7}, journal.ErrCorrupt},
		{natsjs.PubAck{Stream: "OTHER", Sequence: 7, Duplicate: true}, journal.ErrCorrupt},
	} {
		err := checkAck(&test.ack, m, e, "DEED_test")
		if !errors.Is(err, test.want) {
			t.Errorf("%+v: error %v, want %v", test.ack, err, test.want)
		}
		if d, ok := errors.AsType[*journal.DuplicateError](err); ok && d.At != events.Position(test.ack.Sequence) {
			t.Errorf("%+v: duplicate %+v", test.ack, d)
		}
	}
}

func TestStateDrifts(t *testing.T) {
	for _, test := range []struct {
		state  streamState
		drifts int
	}{
		{streamState{}, 0},
		{streamState{FirstSeq: 1}, 0},
		{streamState{Msgs: 1, FirstSeq: 1, LastSeq: 1}, 0},
		{streamState{Msgs: 9, FirstSeq: 1, LastSeq: 9}, 0},
		{streamState{Msgs: 8, FirstSeq: 2, LastSeq: 9}, 2},
		{streamState{Msgs: 8, FirstSeq: 1, LastSeq: 9, NumDeleted: 1}, 2},
		{streamState{Msgs: 9, FirstSeq: 1, LastSeq: 9, NumDeleted: 1}, 1},
		{streamState{Msgs: 9, FirstSeq: 0, LastSeq: 9}, 1},
		{streamState{FirstSeq: 10, LastSeq: 9}, 2},
		{streamState{FirstSeq: 5, LastSeq: 0}, 1},
	} {
		if got := test.state.drifts(); len(got) != test.drifts {
			t.Errorf("%+v: %v, want %d", test.state, got, test.drifts)
		}
	}
}

func TestCompareSettings(t *testing.T) {
	const want = `{"name":"S","max_msgs":-1,"deny_purge":true,"sources":null,"subjects":["a.>"]}`
	for _, test := range []struct {
		got    string
		fields []string
	}{
		{`{"name":"S","max_msgs":-1,"deny_purge":true,"subjects":["a.>"]}`, nil},
		{`{"subjects":["a.>"],"deny_purge":true,"max_msgs":-1,"name":"S","sealed":false,"max_age":0,"x":{},"y":[],"z":""}`, nil},
		{`{"name":"S","max_msgs":-1,"deny_purge":true,"subjects":["a.>"],"metadata":{"_nats.ver":"2.15.2"}}`, nil},
		{`{"name":"S","max_msgs":-1,"deny_purge":true,"subjects":["a.>"],"metadata":{"_nats.ver":"2.15.2","x":"y"}}`, []string{"metadata"}},
		{`{"name":"S","max_msgs":1,"deny_purge":true,"subjects":["a.>"]}`, []string{"max_msgs"}},
		{`{"name":"S","deny_purge":true,"subjects":["a.>","b"]}`, []string{"max_msgs", "subjects"}},
		{`{"name":"S","max_msgs":-1,"deny_purge":false,"subjects":["a.>"]}`, []string{"deny_purge"}},
		{`{"name":"S","max_msgs":-1,"deny_purge":true,"subjects":["a.>"],"of_a_later_server":true}`, []string{"of_a_later_server"}},
		{`{}`, []string{"deny_purge", "max_msgs", "name", "subjects"}},
	} {
		drifts, err := compareSettings([]byte(want), []byte(test.got))
		var fields []string
		for _, d := range drifts {
			fields = append(fields, d.Field)
		}
		if err != nil || fmt.Sprint(fields) != fmt.Sprint(test.fields) {
			t.Errorf("%s: %v, error %v; want %v", test.got, drifts, err, test.fields)
		}
	}
	for _, bad := range []string{"", "[]", "{", "x"} {
		if _, err := compareSettings([]byte(want), []byte(bad)); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}
