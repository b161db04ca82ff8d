package signer

import (
	"crypto/ed25519"
	"fmt"
	"math/big"
	"slices"
)

// checkPoint refuses encodings that Ed25519 verification tolerates and no key
// generator yields. With a key of small order anybody can make signatures, and
// a y of p or more is a second spelling, and so a second id, of one key.
func checkPoint(raw []byte) error {
	if len(raw) != ed25519.PublicKeySize {
		return fmt.Errorf("%w: %d bytes, want %d", ErrPublicKey, len(raw), ed25519.PublicKeySize)
	}
	little := slices.Clone(raw)
	little[31] &= 0x7f // the top bit is the sign of x
	slices.Reverse(little)
	y := new(big.Int).SetBytes(little)

	p := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))
	if y.Cmp(p) >= 0 {
		return fmt.Errorf("%w: a second encoding of its point", ErrPublicKey)
	}
	if smallOrder(y, p) {
		return fmt.Errorf("%w: a point of small order", ErrPublicKey)
	}
	// x² = (y²−1)/(d·y²+1) has a root exactly if (y²−1)·(d·y²+1) is a square.
	one := big.NewInt(1)
	d := new(big.Int).ModInverse(big.NewInt(121666), p)
	d.Mul(d, big.NewInt(-121665)).Mod(d, p)
	y2 := new(big.Int).Mul(y, y)
	u := new(big.Int).Sub(y2, one)
	v := y2.Mul(d, y2)
	v.Add(v, one)
	u.Mul(u, v).Mod(u, p)
	if big.Jacobi(u, p) != 1 {
		return fmt.Errorf("%w: not a point of the curve", ErrPublicKey)
	}
	return nil
}

// smallOrder reports whether y belongs to one of the eight points whose order
// divides 8: y is 1, −1, 0 or one of the two of order 8, whichever sign x has.
func smallOrder(y, p *big.Int) bool {
	const order8 = "2707385501144840649318225287225658788936804267575313519463743609750303402022"
	y8, ok := new(big.Int).SetString(order8, 10)
	if !ok {
		panic("signer: constant is not a number")
	}
	one := big.NewInt(1)
	for _, low := range []*big.Int{new(big.Int), one, new(big.Int).Sub(p, one), y8, new(big.Int).Sub(p, y8)} {
		if y.Cmp(low) == 0 {
			return true
		}
	}
	return false
}
