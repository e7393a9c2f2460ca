package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/internal/fleet"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

const (
	// batchSize is how many tasks are stored with one fsync.
	batchSize = 500
	// batchLeast is how many tasks make a batch: each one is a store of its own, with files that are made, synced and
	// removed, and costs as much as forty messages.
	batchLeast = 40
	// receiptWithin is how long the stream has to say that it holds a message.
	receiptWithin = 5 * time.Second
)

// Put queues tasks.
func (q *Queue) Put(ctx context.Context, tasks ...fleet.Task) (known []string, err error) {
	for _, t := range tasks {
		if err := q.open(ctx, t.Lane()); err != nil {
			return nil, err
		}
	}
	for part := range slices.Chunk(tasks, batchSize) {
		if len(part) >= batchLeast && q.putAll(ctx, part) == nil {
			continue
		}
		more, err := q.putEach(ctx, part)
		if known = append(known, more...); err != nil {
			return known, err
		}
	}
	return known, nil
}

// putAll stores tasks as one atomic batch: all of them, with one fsync, or none.
func (q *Queue) putAll(ctx context.Context, tasks []fleet.Task) error {
	ctx, cancel := context.WithTimeout(ctx, receiptWithin) // a server that is lost meanwhile never answers
	defer cancel()
	id := nuid.Next()
	for i, t := range tasks {
		body, err := json.Marshal(t)
		if err != nil {
			return err
		}
		m := nats.NewMsg(subject(t))
		m.Data = body
		m.Header.Set("Nats-Batch-Id", id)
		m.Header.Set("Nats-Batch-Sequence", strconv.Itoa(i+1))
		if i < len(tasks)-1 {
			if err := q.nc.PublishMsg(m); err != nil {
				return err
			}
			continue
		}
		m.Header.Set("Nats-Batch-Commit", "1")
		answer, err := q.nc.RequestMsgWithContext(ctx, m)
		if err != nil {
			return err
		}
		var ack struct {
			Error *jetstream.APIError `json:"error"`
			Count int                 `json:"count"`
		}
		if err := json.Unmarshal(answer.Data, &ack); err != nil {
			return err
		}
		if ack.Error != nil {
			return ack.Error
		}
		if ack.Count != len(tasks) {
			return fmt.Errorf("%d of %d tasks were stored", ack.Count, len(tasks))
		}
	}
	return nil
}

var errKnown = errors.New("the task is queued already")

// putEach stores tasks one after the other, and asks for all receipts at the end.
func (q *Queue) putEach(ctx context.Context, tasks []fleet.Task) (known []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, receiptWithin)
	defer cancel()
	receipts := make([]jetstream.PubAckFuture, 0, len(tasks))
	for _, t := range tasks {
		body, err := json.Marshal(t)
		if err != nil {
			return nil, err
		}
		r, err := q.js.PublishAsync(subject(t), body)
		if err != nil {
			return nil, fmt.Errorf("queue %s: %w", t.Key, err)
		}
		receipts = append(receipts, r)
	}
	for i, r := range receipts {
		switch e := receipt(ctx, r); {
		case errors.Is(e, errKnown):
			known = append(known, tasks[i].Key)
		case e != nil && err == nil:
			err = fmt.Errorf("queue %s: %w", tasks[i].Key, e)
		}
	}
	return known, err
}

// receipt waits for what became of a message.
func receipt(ctx context.Context, r jetstream.PubAckFuture) error {
	var err error
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-r.Ok():
		return nil
	case err = <-r.Err():
	}
	var api *jetstream.APIError
	switch {
	case errors.As(err, &api) && strings.Contains(api.Description, "per subject"):
		return errKnown
	case errors.As(err, &api) && strings.Contains(api.Description, "maximum"):
		return fmt.Errorf("%w: %s", fleet.ErrFull, api.Description)
	}
	return err
}
