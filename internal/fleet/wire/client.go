package wire

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"assay/internal/fleet"

	"github.com/nats-io/nats.go"
)

// Client is a coordinator elsewhere: a fleet.Desk for one worker, and a
// fleet.Office.
type Client struct {
	nc   *nats.Conn
	name string
	wait time.Duration
}

var (
	_ fleet.Desk   = (*Client)(nil)
	_ fleet.Office = (*Client)(nil)
)

// NewClient speaks over a connection, by the name that its key is for; "" is nobody's.
func NewClient(nc *nats.Conn, name string, wait time.Duration) *Client {
	if wait <= 0 {
		wait = 10 * time.Second
	}
	return &Client{nc: nc, name: cmp.Or(name, Nobody), wait: wait}
}

// ErrAway says that no coordinator answers.
var ErrAway = errors.New("no coordinator answers there: is it running? (start one with assay coordinator)")

// ask sends a request and reads its answer.
func ask[T any](ctx context.Context, c *Client, subject string, wait time.Duration, body any) (T, error) {
	var out T
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	messages, err := split(subject+c.name, body, limitOf(c.nc))
	if err != nil {
		return out, err
	}
	answer, err := exchange(ctx, c.nc, messages)
	if errors.Is(err, nats.ErrNoResponders) || errors.Is(err, context.DeadlineExceeded) {
		return out, fmt.Errorf("%w (%w)", ErrAway, err)
	}
	if err != nil || len(answer) == 0 {
		return out, err
	}
	return out, json.Unmarshal(answer, &out)
}

// Hello announces the worker.
func (c *Client) Hello(ctx context.Context, a fleet.Announcement) (fleet.Orders, error) {
	return ask[fleet.Orders](ctx, c, Desk+"hello.", c.wait, a)
}

// Beat is the worker's sign of life.
func (c *Client) Beat(ctx context.Context, b fleet.Beat) (fleet.Orders, error) {
	return ask[fleet.Orders](ctx, c, Desk+"beat.", c.wait, b)
}

// Begin asks for leave to run a task.
func (c *Client) Begin(ctx context.Context, b fleet.Beginning) (fleet.Grant, error) {
	return ask[fleet.Grant](ctx, c, Desk+"begin.", c.wait, b)
}

// Finish brings an answer.
func (c *Client) Finish(ctx context.Context, a fleet.Answer) (fleet.Outcome, error) {
	return ask[fleet.Outcome](ctx, c, Desk+"finish.", 3*c.wait, a)
}

// Health brings what a health check gave.
func (c *Client) Health(ctx context.Context, h fleet.Health) (fleet.Orders, error) {
	return ask[fleet.Orders](ctx, c, Desk+"health.", c.wait, h)
}

// Submit sends a part of a sweep.
func (c *Client) Submit(ctx context.Context, s fleet.Submission) (fleet.Sweep, error) {
	return ask[fleet.Sweep](ctx, c, Office+"submit.", 3*c.wait, s)
}

// Answers asks for a sweep's answers.
func (c *Client) Answers(ctx context.Context, q fleet.Question) (fleet.Page, error) {
	return ask[fleet.Page](ctx, c, Office+"answers.", q.Wait+c.wait, q)
}

// Status asks how the fleet is.
func (c *Client) Status(ctx context.Context) (fleet.Status, error) {
	return ask[fleet.Status](ctx, c, Office+"status.", c.wait, struct{}{})
}

// Tasks asks for tasks.
func (c *Client) Tasks(ctx context.Context, q fleet.TaskQuestion) ([]fleet.TaskStatus, error) {
	return ask[[]fleet.TaskStatus](ctx, c, Office+"tasks.", c.wait, q)
}

// Outliers asks who stands apart. The whole ledger is read for it.
func (c *Client) Outliers(ctx context.Context) ([]fleet.Outlier, error) {
	return ask[[]fleet.Outlier](ctx, c, Office+"outliers.", 6*c.wait, struct{}{})
}

// Steer gives an order.
func (c *Client) Steer(ctx context.Context, s fleet.Steering) (string, error) {
	return ask[string](ctx, c, Office+"steer.", c.wait, s)
}

// Hear calls back whenever workers should ask for orders, and whenever the
// connection was made again: the coordinator may be another process since.
func (c *Client) Hear(on func()) (stop func(), err error) {
	sub, err := c.nc.Subscribe(News, func(*nats.Msg) { on() })
	if err != nil {
		return nil, err
	}
	before := c.nc.ReconnectHandler()
	c.nc.SetReconnectHandler(func(nc *nats.Conn) {
		if before != nil {
			before(nc)
		}
		on()
	})
	return func() {
		c.nc.SetReconnectHandler(before)
		_ = sub.Unsubscribe()
	}, nil
}
