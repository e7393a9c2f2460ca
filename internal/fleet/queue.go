package fleet

import (
	"context"
	"errors"
	"time"
)

// Queue hands tasks out, each to one worker at a time as long as that one says
// that it is at work. It promises at least once: a task may be delivered
// twice, whatever a worker says about it, and whoever relies on a result asks the
// board. All methods may be called from several goroutines.
//
// queuetest has the suite that every implementation passes.
type Queue interface {
	// Put queues tasks, in this order, each in the lane of its needs. A task whose key is
	// queued already is left as it is; known are the keys of those. A queue that
	// is full refuses new tasks (ErrFull) and drops none that it has.
	Put(ctx context.Context, tasks ...Task) (known []string, err error)
	// Fetch leases the next task of any of the lanes: one, never more. It waits
	// until there is one or ctx is done, which is ErrNone.
	Fetch(ctx context.Context, lanes ...string) (Delivery, error)
	// Remove takes a task out, whoever has it. What is not there is no error.
	Remove(ctx context.Context, lane, key string) error
	// Exhausted calls back with the key of each task that was delivered as often as
	// the queue allows, all in vain: the queue has it still and delivers it no
	// more. It returns when ctx is done.
	Exhausted(ctx context.Context, on func(key string)) error
	// Waiting is how many tasks each lane holds, those under way too.
	Waiting(ctx context.Context) (map[string]int, error)
	// Close lets go of what the queue holds open; the tasks stay where they are stored.
	Close() error
}

// Delivery is a task on lease. Its holder says often enough that it is at work;
// without that the task is delivered again. What an old holder says may count
// for the newer one: the queue is not asked who is right.
type Delivery interface {
	Task() Task
	// Count is which delivery this is, the first is 1. After a crash of the queue
	// it may be too small: attempts are counted by the board.
	Count() int
	// Renew starts the lease anew.
	Renew(ctx context.Context) error
	// Done takes the task out of the queue. When it returns, the task may be put again.
	Done(ctx context.Context) error
	// Return gives the task back, to be delivered again after a while.
	Return(ctx context.Context, after time.Duration) error
}

// Limits are what a queue is made with.
type Limits struct {
	Lease      time.Duration // 0 is Lease
	Deliveries int           // of one task, at most; 0 is MaxDeliveries
	Tasks      int           // that the queue holds at most; 0 is MaxTasks
}

// MaxDeliveries is how often a task is delivered. Deliveries are cheap: a task that
// suits nobody at the moment is given back.
const MaxDeliveries = 25

// MaxTasks is how many tasks a queue holds. The coordinator keeps the rest.
const MaxTasks = 1_000_000

// Full are the limits with defaults in place of zeros.
func (l Limits) Full() Limits {
	if l.Lease <= 0 {
		l.Lease = Lease
	}
	if l.Deliveries <= 0 {
		l.Deliveries = MaxDeliveries
	}
	if l.Tasks <= 0 {
		l.Tasks = MaxTasks
	}
	return l
}

var (
	// ErrNone says that no task came.
	ErrNone = errors.New("no task")
	// ErrFull says that the queue takes no more.
	ErrFull = errors.New("the queue is full")
)
