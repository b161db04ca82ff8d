package projections

import (
	"cmp"
	"math"
	"slices"

	"github.com/deedledger/deed/events"
)

// CostTotal is what a task cost in one kind and currency. The sum is exact:
// Micros and Sixtieths/60 millionths of the currency's unit, where a person's
// minutes × rate per hour leave sixtieths. It stops at the largest number
// instead of passing it.
type CostTotal struct {
	Kind      string `json:"kind"`
	Currency  string `json:"currency"`
	Micros    int64  `json:"micros,string"`
	Sixtieths int64  `json:"sixtieths,omitzero"` // 0 to 59
	Events    int64  `json:"events"`
	Minutes   int64  `json:"minutes,omitzero"` // of a person
	TokensIn  int64  `json:"tokensIn,string,omitzero"`
	TokensOut int64  `json:"tokensOut,string,omitzero"`
}

// Rounded returns the total in millionths of the currency's unit: half a
// millionth rounds up. Sums of rounded totals are not rounded sums.
func (c CostTotal) Rounded() int64 {
	if c.Sixtieths >= 30 {
		return sum(c.Micros, 1)
	}
	return c.Micros
}

// Cost returns the total of a kind in a currency, the zero total where nothing
// was recorded.
func (t *Task) Cost(kind, currency string) CostTotal {
	if i, found := t.findCost(kind, currency); found {
		return t.Costs[i]
	}
	return CostTotal{Kind: kind, Currency: currency}
}

func (t *Task) findCost(kind, currency string) (int, bool) {
	return slices.BinarySearchFunc(t.Costs, CostTotal{Kind: kind, Currency: currency}, func(a, b CostTotal) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Currency, b.Currency))
	})
}

// spend folds cost.recorded.
func (t *Task) spend(d *events.Cost) {
	var currency string
	var whole, sixtieths, minutes int64
	switch {
	case d.Amount != nil:
		currency, whole = d.Amount.Currency, d.Amount.Micros
	case d.Time != nil:
		product := d.Time.Minutes * d.Time.RatePerHour // within 63 bits, see events.MaxMinutes
		currency, whole, sixtieths, minutes = d.Time.Currency, product/60, product%60, d.Time.Minutes
	}
	i, found := t.findCost(d.Kind, currency)
	if !found {
		t.Costs = slices.Insert(t.Costs, i, CostTotal{Kind: d.Kind, Currency: currency})
	}
	c := &t.Costs[i]
	sixtieths += c.Sixtieths
	c.Micros, c.Sixtieths = sum(sum(c.Micros, whole), sixtieths/60), sixtieths%60
	c.Events, c.Minutes = c.Events+1, sum(c.Minutes, minutes)
	if d.Tokens != nil {
		c.TokensIn, c.TokensOut = sum(c.TokensIn, d.Tokens.In), sum(c.TokensOut, d.Tokens.Out)
	}
}

// sum adds two numbers that are not negative, up to the largest one.
func sum(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
