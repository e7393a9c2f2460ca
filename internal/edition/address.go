package edition

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"assay/internal/input"
)

// patience is how long a file and its signature may take to come.
const patience = time.Minute

// IsAddress tells an address from a file. It need not be one that can be fetched.
func IsAddress(place string) bool { return strings.Contains(place, "://") }

// Shown is an address as it may be printed: without a user, a password, a query or a
// fragment, in which a token may stand. A file's name stays as it is.
func Shown(place string) string {
	if !IsAddress(place) {
		return place
	}
	scheme, _, _ := strings.Cut(place, "://")
	u, err := url.Parse(place)
	if err != nil || u.Host == "" {
		if strings.ContainsFunc(scheme, func(r rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz+.-0123456789", r) }) {
			scheme = "…"
		}
		return scheme + "://…"
	}
	shown := (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
	if u.RawQuery != "" {
		shown += "?…"
	}
	return shown
}

// AddressError says that nothing can be fetched from an address, whoever answers there.
type AddressError struct{ Place string }

func (e *AddressError) Error() string {
	return fmt.Sprintf("%s is no address that can be read: it begins with https:// or http:// and a host", Shown(e.Place))
}

// Fetch reads an edition and its signature from an address. No error has more of
// the address than Shown.
func Fetch(ctx context.Context, place string) (file, signature []byte, err error) {
	u, err := url.Parse(place)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" {
		return nil, nil, &AddressError{place}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it took longer than %s", patience))
	defer cancel()
	if file, err = get(ctx, u, Most); err != nil {
		return nil, nil, err
	}
	u.Path, u.RawPath = u.Path+Ending, ""
	if signature, err = get(ctx, u, MostSignature); err != nil {
		err = fmt.Errorf("its signature: %w", err)
	}
	return file, signature, err
}

// inside are addresses in what a library says.
var inside = regexp.MustCompile(`"[^"]*://[^"]*"|[^\s"]+://[^\s"]*`)

func get(ctx context.Context, from *url.URL, limit int64) ([]byte, error) {
	shown := Shown(from.String())
	b, err := ask(ctx, from, limit)
	var wrapped *url.Error // it has the address in full
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	large := (*input.LargeError)(nil)
	switch {
	case errors.As(err, &large):
		return nil, &input.LargeError{Path: shown, Limit: limit}
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("%s cannot be loaded: %w", shown, context.Cause(ctx))
	case err != nil:
		said := inside.ReplaceAllStringFunc(err.Error(), func(a string) string { return Shown(strings.Trim(a, `"`)) })
		return nil, fmt.Errorf("%s cannot be loaded: %s: check the address and the network, or name a file", shown, said)
	}
	return b, nil
}

func ask(ctx context.Context, from *url.URL, limit int64) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answers %s", response.Status)
	}
	b, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = &input.LargeError{Limit: limit}
	}
	return b, err
}
