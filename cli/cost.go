package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/deedledger/deed/events"
	"github.com/spf13/cobra"
)

// newCostCommand builds "deed cost".
func newCostCommand(e *Env, f *flags) *cobra.Command {
	cmd := &cobra.Command{Use: "cost", Short: "Record what work on a task cost, or saved"}
	var o costOptions
	record := newStatementCommand(e, f, statement{
		use: "record TASK --kind KIND --amount 1.25EUR|--minutes N --rate 80EUR", short: "Record a cost", did: "recorded a cost of",
		long: "Record a cost. Money is an exact decimal with at most six places and the currency's code\n" +
			"(ISO 4217); a person's time is minutes at a rate per hour. Kinds are " + either(events.CostKinds()) + ".",
		payload: func(context.Context, *session, author) (events.Payload, error) { return o.payload() },
	})
	fs := record.Flags()
	fs.StringVar(&o.kind, "kind", "", "what it is for: "+either(events.CostKinds()))
	fs.StringVar(&o.amount, "amount", "", "money, such as 1.25EUR")
	fs.Int64Var(&o.minutes, "minutes", 0, "a person's time, kinds review and saved")
	fs.StringVar(&o.rate, "rate", "", "what an hour of it costs, such as 80EUR")
	fs.StringVar(&o.model, "model", "", "model id, kind model")
	fs.StringVar(&o.tokens, "tokens", "", "IN/OUT tokens, kind model")
	fs.StringVar(&o.note, "note", "", "one line")
	cmd.AddCommand(record)
	return cmd
}

// costOptions are the flags of "deed cost record".
type costOptions struct {
	kind, amount, rate, model, tokens, note string
	minutes                                 int64
}

func (o costOptions) payload() (events.Payload, error) {
	if err := choose("--kind", o.kind, events.CostKinds()); err != nil {
		return nil, err
	}
	if (o.amount == "") == (o.minutes == 0) {
		return nil, fmt.Errorf("%w: want exactly one of --amount and --minutes", errUsage)
	}
	if (o.minutes == 0) != (o.rate == "") {
		return nil, fmt.Errorf("%w: --minutes and --rate go together", errUsage)
	}
	d := &events.Cost{Kind: o.kind, Model: o.model, Note: o.note}
	if o.amount != "" {
		micros, currency, err := parseMoney("--amount", o.amount)
		if err != nil {
			return nil, err
		}
		d.Amount = &events.Amount{Micros: micros, Currency: currency}
	} else {
		micros, currency, err := parseMoney("--rate", o.rate)
		if err != nil {
			return nil, err
		}
		d.Time = &events.Spent{Minutes: o.minutes, RatePerHour: micros, Currency: currency}
	}
	if o.tokens != "" {
		in, out, err := parseCount("--tokens", o.tokens)
		if err != nil {
			return nil, err
		}
		d.Tokens = &events.Tokens{In: in, Out: out}
	}
	return d, nil
}

// moneyPlaces is how many decimal places an amount can have: it is kept in
// millionths.
const moneyPlaces = 6

// parseMoney reads "1.25EUR" into millionths and a currency code, exactly.
func parseMoney(flag, text string) (micros int64, currency string, err error) {
	wrong := fmt.Errorf("%w: %s %q, want an amount and a currency's code, such as 1.25EUR", errUsage, flag, text)
	if len(text) < 4 {
		return 0, "", wrong
	}
	number, currency := strings.TrimSpace(text[:len(text)-3]), text[len(text)-3:]
	whole, fraction, _ := strings.Cut(number, ".")
	if len(fraction) > moneyPlaces {
		return 0, "", fmt.Errorf("%w: %s %q has more than %d decimal places", errUsage, flag, text, moneyPlaces)
	}
	digits := whole + fraction + strings.Repeat("0", moneyPlaces-len(fraction))
	if strings.Trim(digits, "0123456789") != "" || whole == "" {
		return 0, "", wrong
	}
	if micros, err = strconv.ParseInt(digits, 10, 64); err != nil {
		return 0, "", wrong
	}
	return micros, currency, nil
}
