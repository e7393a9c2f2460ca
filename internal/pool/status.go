package pool

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Counters count since the pool began.
type Counters struct {
	Requests  int64 `json:"requests"`
	Refused   int64 `json:"refused"` // the row was full
	Failed    int64 `json:"failed"`
	Loads     int64 `json:"loads"`
	Evictions int64 `json:"evictions"`
	Lost      int64 `json:"lost"` // models that broke or took too much
	Fallbacks int64 `json:"fallbacks"`
	PeakBytes int64 `json:"peak_bytes"` // of host memory that was charged at once
}

// Status is a pool as it is at one moment.
type Status struct {
	Schema    int           `json:"schema"`
	CapBytes  int64         `json:"cap_bytes"` // of host memory; 0 is no limit
	UsedBytes int64         `json:"used_bytes"`
	Devices   []DeviceUse   `json:"devices"`
	InFlight  int           `json:"in_flight"`
	Limit     int           `json:"limit"`
	Queue     QueueUse      `json:"queue"`
	Models    []LoadedModel `json:"models"` // that used last first
	Counters  Counters      `json:"counters"`
}

// DeviceUse is the memory of one device.
type DeviceUse struct {
	Device    string `json:"device"`
	CapBytes  int64  `json:"cap_bytes"` // 0 is no limit
	UsedBytes int64  `json:"used_bytes"`
}

// QueueUse is how many wait.
type QueueUse struct {
	Length int `json:"length"`
	Bound  int `json:"bound"`
}

// LoadedModel is one of the pool's.
type LoadedModel struct {
	Key      string    `json:"key"`
	Model    string    `json:"model"`
	Target   string    `json:"target"`
	DType    string    `json:"dtype"`
	State    string    `json:"state"` // loading, idle, busy
	Bytes    Bytes     `json:"bytes"` // reserved, or taken where that is more
	Users    int       `json:"users"`
	Requests int64     `json:"requests"`
	LastUsed time.Time `json:"last_used"`
	Parts    []string  `json:"parts"` // that it shares with models that were loaded before it
}

// Status is the pool now.
func (p *Pool) Status() Status {
	inside, waiting := p.turns.counts()
	p.mu.Lock()
	defer p.mu.Unlock()
	host, devices := p.used()
	s := Status{
		Schema: 1, CapBytes: p.limits.Host, UsedBytes: host, Devices: []DeviceUse{}, InFlight: inside, Limit: p.turns.limit,
		Queue: QueueUse{waiting, p.turns.bound}, Models: []LoadedModel{}, Counters: p.counts,
	}
	for d, limit := range p.limits.Devices {
		s.Devices = append(s.Devices, DeviceUse{d, limit, devices[d]})
	}
	slices.SortFunc(s.Devices, func(a, b DeviceUse) int { return cmp.Compare(a.Device, b.Device) })
	for _, h := range p.held {
		m := LoadedModel{
			Key: h.key, Model: h.subject.Name, Target: h.place.Target, DType: h.place.DType, State: "idle", Bytes: h.charge, Users: h.users,
			Requests: h.calls, LastUsed: h.last.UTC(), Parts: []string{},
		}
		if h.loaded != nil {
			m.Parts = append(m.Parts, h.loaded.Parts()...)
		}
		switch {
		case h.loaded == nil:
			m.State = "loading"
		case h.users > 0:
			m.State = "busy"
		}
		s.Models = append(s.Models, m)
	}
	slices.SortFunc(s.Models, func(a, b LoadedModel) int { return cmp.Or(b.LastUsed.Compare(a.LastUsed), cmp.Compare(a.Key, b.Key)) })
	return s
}

// Release ends a model that nobody uses.
func (p *Pool) Release(key string) error {
	p.mu.Lock()
	h, ok := p.held[key]
	switch {
	case !ok || h.lost:
		p.mu.Unlock()
		return &RefusedError{UnknownModel, fmt.Errorf("no model %q is loaded", key)}
	case h.users > 0 || h.loaded == nil:
		p.mu.Unlock()
		return &BusyError{Why: "the model is in use"}
	}
	h.lost = true
	p.mu.Unlock()
	p.close(h)
	return nil
}

func (p *Pool) count(f func(*Counters)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(&p.counts)
}

// peak notes the most that was charged at once; the lock is held.
func (p *Pool) peak() {
	host, _ := p.used()
	p.counts.PeakBytes = max(p.counts.PeakBytes, host)
}
