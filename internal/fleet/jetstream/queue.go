// Package jetstream is the fleet's queue on NATS JetStream: one stream, a subject for each task, a consumer for each lane.
//
// JetStream has ways of its own that a queue of costly tasks must know. What is
// done about each (the tests of this package and queuetest show it):
//
//   - Consume buffers messages ahead, and what is buffered passes its ack wait and
//     runs twice: one message is fetched at a time, when a worker is free.
//   - Acks and progress of an old delivery are accepted: attempts are numbered and
//     counted by the board, and only the newest one's answer counts.
//   - After the last delivery a message stays, undelivered: the advisory is read
//     (Exhausted), and the coordinator decides.
//   - A bare Nak redelivers at once: Return always has a delay.
//   - A full stream drops its oldest messages by default: DiscardNew refuses new ones.
//   - Deduplication is a window of time: the subject is the task's key and holds one
//     message, whenever the second comes.
//   - A consumer's limit of unacknowledged messages (1000) spans all workers: it is
//     raised, and each lane has a consumer of its own.
//   - Counts of deliveries are wrong after a crash: nobody relies on them.
//   - With sync_always every message costs an fsync: many tasks are put in atomic
//     batches, which cost one for all.
package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"assay/internal/fleet"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Stream holds the tasks; Subjects are theirs.
const (
	Stream   = "ASSAY_TASKS"
	subjects = "assay.task."
	advisory = "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES." + Stream + ".*"
)

// mostPending is how many tasks of a lane may be under way.
const mostPending = 20_000

// Config is how the stream is kept.
type Config struct {
	fleet.Limits
	Replicas int // servers that hold each task; 0 is 1
}

// Queue is a fleet.Queue on JetStream.
type Queue struct {
	nc     *nats.Conn
	js     jetstream.JetStream
	limits fleet.Limits

	mu    sync.Mutex
	lanes map[string]jetstream.Consumer
	known map[string]bool // lanes that were made
	turn  int
}

// Create opens the stream, or makes it: what a coordinator does.
func Create(ctx context.Context, nc *nats.Conn, c Config) (*Queue, error) {
	c.Limits = c.Full()
	q, err := Open(nc, c.Limits)
	if err != nil {
		return nil, err
	}
	_, err = q.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: Stream, Subjects: []string{subjects + ">"}, Description: "tasks of Assay",
		Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage, Replicas: max(1, c.Replicas),
		Discard: jetstream.DiscardNew, DiscardNewPerSubject: true, MaxMsgsPerSubject: 1, MaxMsgs: int64(c.Tasks),
		AllowAtomicPublish: true, AllowDirect: true,
	})
	if err != nil {
		return nil, fmt.Errorf("make the queue's stream: %w", err)
	}
	return q, nil
}

// Open is the queue as a worker sees it: nothing is made.
func Open(nc *nats.Conn, l fleet.Limits) (*Queue, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	return &Queue{nc: nc, js: js, limits: l.Full(), lanes: map[string]jetstream.Consumer{}, known: map[string]bool{}}, nil
}

func subject(t fleet.Task) string { return subjects + t.Lane() + "." + t.Key }

// open makes the consumer of a lane.
func (q *Queue) open(ctx context.Context, lane string) error {
	q.mu.Lock()
	known := q.known[lane]
	q.mu.Unlock()
	if known {
		return nil
	}
	c, err := q.js.CreateOrUpdateConsumer(ctx, Stream, jetstream.ConsumerConfig{
		Durable: lane, FilterSubject: subjects + lane + ".*",
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: q.limits.Lease, MaxDeliver: q.limits.Deliveries, MaxAckPending: mostPending,
	})
	if err != nil {
		return fmt.Errorf("make lane %s: %w", lane, err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.known[lane], q.lanes[lane] = true, c
	return nil
}

// consumer finds a lane; nil is one that nobody has made yet.
func (q *Queue) consumer(ctx context.Context, lane string) (jetstream.Consumer, error) {
	q.mu.Lock()
	c := q.lanes[lane]
	q.mu.Unlock()
	if c != nil {
		return c, nil
	}
	c, err := q.js.Consumer(ctx, Stream, lane)
	if errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lanes[lane] = c
	return c, nil
}

// glance is how long one of several lanes is waited at.
const glance = 200 * time.Millisecond

// Fetch leases the next task of the lanes. Lanes take turns.
func (q *Queue) Fetch(ctx context.Context, lanes ...string) (fleet.Delivery, error) {
	for first := true; ; first = false {
		for range lanes {
			q.mu.Lock()
			lane := lanes[q.turn%len(lanes)]
			q.turn++
			q.mu.Unlock()
			d, err := q.fetch(ctx, lane, first, len(lanes) == 1)
			if err != nil || d != nil {
				return d, err
			}
		}
		if ctx.Err() != nil {
			return nil, fleet.ErrNone
		}
		if len(lanes) == 0 {
			<-ctx.Done()
		}
	}
}

// fetch asks one lane for one task.
func (q *Queue) fetch(ctx context.Context, lane string, atOnce, only bool) (fleet.Delivery, error) {
	if over(ctx) {
		return nil, fleet.ErrNone
	}
	c, err := q.consumer(ctx, lane)
	if err != nil || c == nil {
		if ctx.Err() == nil {
			pause(ctx, glance)
		}
		return nil, err
	}
	var batch jetstream.MessageBatch
	switch {
	case atOnce && !only:
		batch, err = c.FetchNoWait(1)
	case only:
		batch, err = c.Fetch(1, jetstream.FetchMaxWait(until(ctx)))
	default:
		batch, err = c.Fetch(1, jetstream.FetchMaxWait(glance))
	}
	if err != nil {
		return nil, q.forget(ctx, lane, err)
	}
	for m := range batch.Messages() {
		return newDelivery(m)
	}
	if err := batch.Error(); err != nil {
		return nil, q.forget(ctx, lane, err)
	}
	return nil, nil
}

// forget drops a lane that is not there any more, so that it is looked for again.
func (q *Queue) forget(ctx context.Context, lane string, err error) error {
	if over(ctx) {
		return fleet.ErrNone
	}
	q.mu.Lock()
	delete(q.lanes, lane)
	q.mu.Unlock()
	if errors.Is(err, nats.ErrTimeout) || errors.Is(err, jetstream.ErrConsumerDeleted) || errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrConsumerNotFound) {
		pause(ctx, glance)
		return nil
	}
	return err
}

// until is how long one request for a task waits: not so long that a caller who
// leaves is kept, and never cut short, since a task that is on its way
// then would come to nobody.
func until(ctx context.Context) time.Duration {
	const most, least = time.Second, 20 * time.Millisecond
	end, limited := ctx.Deadline()
	if !limited {
		return most
	}
	return max(least, min(most, time.Until(end)))
}

// over reports whether a context is done, or just about to be.
func over(ctx context.Context) bool {
	end, limited := ctx.Deadline()
	return ctx.Err() != nil || limited && time.Until(end) <= 0
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// Remove takes a task out.
func (q *Queue) Remove(ctx context.Context, lane, key string) error {
	s, err := q.js.Stream(ctx, Stream)
	if err != nil {
		return err
	}
	return s.Purge(ctx, jetstream.WithPurgeSubject(subjects+lane+"."+key))
}

// Exhausted reads the advisories of messages that are delivered no more.
func (q *Queue) Exhausted(ctx context.Context, on func(string)) error {
	sub, err := q.nc.Subscribe(advisory, func(m *nats.Msg) {
		if key := q.exhausted(ctx, m.Data); key != "" {
			on(key)
		}
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	return sub.Unsubscribe()
}

// exhausted is the key of the task that an advisory is about; "" where it is gone.
func (q *Queue) exhausted(ctx context.Context, data []byte) string {
	var about struct {
		Seq uint64 `json:"stream_seq"`
	}
	if json.Unmarshal(data, &about) != nil {
		return ""
	}
	s, err := q.js.Stream(ctx, Stream)
	if err != nil {
		return ""
	}
	m, err := s.GetMsg(ctx, about.Seq)
	if err != nil {
		return ""
	}
	return m.Subject[strings.LastIndexByte(m.Subject, '.')+1:]
}

// Waiting counts the tasks of each lane.
func (q *Queue) Waiting(ctx context.Context) (map[string]int, error) {
	s, err := q.js.Stream(ctx, Stream)
	if err != nil {
		return nil, err
	}
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(subjects+">"))
	if err != nil {
		return nil, err
	}
	out := map[string]int{}
	for subject := range maps.Keys(info.State.Subjects) {
		lane, _, _ := strings.Cut(strings.TrimPrefix(subject, subjects), ".")
		out[lane]++
	}
	return out, nil
}

// Close does nothing: the connection is the caller's.
func (q *Queue) Close() error { return nil }

// delivery is a message on lease.
type delivery struct {
	jetstream.Msg
	task  fleet.Task
	count int
}

func newDelivery(m jetstream.Msg) (fleet.Delivery, error) {
	d := &delivery{Msg: m, count: 1}
	if err := json.Unmarshal(m.Data(), &d.task); err != nil {
		// Nobody can ever run it: out with it, or it comes again and again.
		return nil, errors.Join(fmt.Errorf("a task in the queue cannot be read: %w", err), m.Term())
	}
	if meta, err := m.Metadata(); err == nil {
		d.count = int(meta.NumDelivered)
	}
	return d, nil
}

func (d *delivery) Task() fleet.Task               { return d.task }
func (d *delivery) Count() int                     { return d.count }
func (d *delivery) Renew(context.Context) error    { return d.InProgress() }
func (d *delivery) Done(ctx context.Context) error { return d.DoubleAck(ctx) }
func (d *delivery) Return(_ context.Context, after time.Duration) error {
	return d.NakWithDelay(max(after, time.Millisecond))
}
