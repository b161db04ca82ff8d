package events

// Limits of costs: they keep minutes × rate within 63 bits.
const (
	MaxMicros  = 1_000_000_000_000_000 // of one amount, or of one hour
	MaxMinutes = 1000
)

// Amount is money: millionths of a currency unit.
type Amount struct {
	Micros   int64  `json:"micros"`
	Currency string `json:"currency"` // ISO 4217, three capital letters
}

// Spent is a person's time at a rate.
type Spent struct {
	Minutes     int64  `json:"minutes"`
	RatePerHour int64  `json:"ratePerHour"` // micros of currency
	Currency    string `json:"currency"`
}

// Tokens are what a model read and wrote.
type Tokens struct {
	In  int64 `json:"in"`
	Out int64 `json:"out"`
}

// Cost is the data of cost.recorded: exactly one of Amount and Time.
type Cost struct {
	Kind   string  `json:"kind"` // model, ci, sandbox, review, saved or incident
	Amount *Amount `json:"amount,omitempty"`
	Time   *Spent  `json:"time,omitempty"`   // kinds review and saved
	Tokens *Tokens `json:"tokens,omitempty"` // kind model
	Model  string  `json:"model,omitzero"`   // kind model
	Note   string  `json:"note,omitzero"`
}

// CostKinds returns what a cost can be for. "saved" is what was not spent.
func CostKinds() []string { return []string{"model", "ci", "sandbox", "review", "saved", "incident"} }

// Type returns CostRecorded.
func (*Cost) Type() Type { return CostRecorded }

// Validate checks c; see [Payload].
func (c *Cost) Validate() error {
	var v validation
	v.oneOf("kind", c.Kind, CostKinds()...)
	v.that((c.Amount == nil) != (c.Time == nil), "amount", "want exactly one of amount and time")
	v.that(c.Time == nil || c.Kind == "review" || c.Kind == "saved", "time", "goes with kinds review and saved only")
	v.that(c.Kind == "model" || c.Tokens == nil && c.Model == "", "model", "model and tokens go with kind model only")
	if a := c.Amount; a != nil {
		v.number("amount.micros", a.Micros, 0, MaxMicros)
		v.currency("amount.currency", a.Currency)
	}
	if t := c.Time; t != nil {
		v.number("time.minutes", t.Minutes, 1, MaxMinutes)
		v.number("time.ratePerHour", t.RatePerHour, 0, MaxMicros)
		v.currency("time.currency", t.Currency)
	}
	if t := c.Tokens; t != nil {
		v.number("tokens.in", t.In, 0, maxInt)
		v.number("tokens.out", t.Out, 0, maxInt)
	}
	v.line("model", c.Model, true)
	v.line("note", c.Note, true)
	return v.err
}

// currency checks the form of a currency code of ISO 4217.
func (v *validation) currency(member, s string) {
	ok := len(s) == 3
	for i := range len(s) {
		ok = ok && s[i] >= 'A' && s[i] <= 'Z'
	}
	v.that(ok, member, "%q is no currency code", clip(s))
}
