package lab

import "context"

// Hush does nothing on Windows: two programs that time at once are not kept
// apart there.
func Hush(string) func(ctx context.Context, alone bool, note func(string)) (func(), error) {
	return func(context.Context, bool, func(string)) (func(), error) { return func() {}, nil }
}
