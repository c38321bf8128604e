package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/sectional/sectional/internal/admission"
	"github.com/sectional/sectional/internal/auth"
	"github.com/sectional/sectional/internal/backup"
	"github.com/sectional/sectional/internal/config"
	"github.com/sectional/sectional/internal/couchapi"
	"github.com/sectional/sectional/internal/couchapi/couchhttp"
	"github.com/sectional/sectional/internal/dberr"
	"github.com/sectional/sectional/internal/index"
	"github.com/sectional/sectional/internal/index/geo"
	"github.com/sectional/sectional/internal/index/text"
	"github.com/sectional/sectional/internal/index/view"
	"github.com/sectional/sectional/internal/kv"
	"github.com/sectional/sectional/internal/kv/pebblekv"
	"github.com/sectional/sectional/internal/replicate"
	"github.com/sectional/sectional/internal/script"
	"github.com/sectional/sectional/internal/store"
	"github.com/sectional/sectional/internal/subscribe"
	"github.com/sectional/sectional/internal/transfer"
)

// PartOptions say which part of a backup to bring where.
type PartOptions struct {
	BackupOptions
	Database  string
	Partition string        // "": the whole database
	To        transfer.Side // the database, or the partition of one, on a server
}

// RestorePart brings a database of a backup, or a partition of one, to a server that runs: its documents with their
// revisions, conflicts and attachments, local documents but for checkpoints, and with a database its `_security` where
// the target has none of its own. Nothing else of the backup comes to life: no replication, no subscription.
// The backup's data is put together in the directory for temporary files, and removed at the end.
func RestorePart(ctx context.Context, o PartOptions) (err error) {
	defer o.Progress.Clear()
	b, err := o.backup()
	if err != nil {
		return err
	}
	stage, err := os.MkdirTemp("", "sectional-restore")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(stage)) }()
	data := filepath.Join(stage, "data")
	if err := backup.Restore(ctx, b, data, o.progress("restored"), o.verify(ctx)); err != nil {
		return err
	}
	e, err := pebblekv.Open(pebblekv.Options{Dir: data, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	r, err := openReader(ctx, e, filepath.Join(stage, localConfig))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	if _, err := r.store.Database(ctx, o.Database); dberr.Is(err, dberr.NotFound) {
		return fmt.Errorf("the backup %s has no database %s", b.Path, o.Database)
	} else if err != nil {
		return err
	}
	from := "http://backup/" + url.PathEscape(o.Database)
	if o.Partition != "" {
		from += "/_partition/" + url.PathEscape(o.Partition)
	}
	source := transfer.Side{URL: from, User: readerName, Password: r.password, Transport: &replicate.Local{Handler: r.api}}
	task := transfer.Sync{Source: source, Target: o.To, CreateTarget: o.Partition == "", Out: o.Progress.Above(o.Out), Line: o.Progress}
	done, err := task.Run(ctx)
	if err != nil {
		return err
	}
	aside := transfer.Aside{Source: source, Target: o.To, Security: o.Partition == ""}
	carried, err := aside.Run(ctx)
	if err != nil {
		return fmt.Errorf("the documents are restored, but not all of its _security and local documents: %w", err)
	}
	return o.told(b, done, carried)
}

// told tells what came of it.
func (o *PartOptions) told(b *backup.Backup, done transfer.Outcome, carried transfer.Carried) error {
	o.Progress.Clear()
	if done.Refused > 0 {
		return fmt.Errorf("%d documents were refused; they are named above", done.Refused)
	}
	part := o.Database
	if o.Partition != "" {
		part += "/" + o.Partition
	}
	beside := ""
	if carried.Locals > 0 {
		beside = fmt.Sprintf(", %d local documents", carried.Locals)
	}
	if o.Partition == "" && !carried.Security {
		beside += "; _security stays as it was there"
	}
	return o.result(map[string]any{"backup": b.Path, "made": b.Made, "part": part, "documents": done.Documents + done.Written, "aside": carried},
		"%s is restored as of %s: %d documents%s.", part, b.Made.Format(time.RFC3339), done.Documents+done.Written, beside)
}

// reader answers requests for what is in a store on which nothing else goes on.
type reader struct {
	api           *couchhttp.API
	password      string // of the administrator readerName
	store         *store.Store
	indexes       *index.Indexes
	users         *admission.Users
	scripts       *script.Pool
	subscriptions *subscribe.Service
	engine        kv.Engine
	done          chan struct{}
}

const readerName = "restore"

// openReader makes a reader, whose configuration is in a file of its own. It closes the engine, also after an error.
func openReader(ctx context.Context, e kv.Engine, file string) (r *reader, err error) {
	r = &reader{engine: e, password: rand.Text(), users: &admission.Users{}, done: make(chan struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	log := slog.New(slog.DiscardHandler)
	c, err := config.Open(config.Options{Local: file})
	if err != nil {
		return r, err
	}
	if _, err := auth.SetAdmin(c, readerName, r.password); err != nil {
		return r, err
	}
	if r.scripts, err = openScripts(c.Snapshot(), log); err != nil {
		return r, err
	}
	who := auth.New(auth.Options{Config: c, Users: r.users, Log: log})
	rules := admission.New(admission.Options{Auth: who, Functions: r.scripts, Cloudant: func() bool { return false }})
	views, texts := view.New(nil), text.New(text.Options{})
	r.indexes = index.New(index.Options{Kinds: kinds(views, texts, geo.New(nil)), Logger: log, Idle: true})
	r.store, err = store.Open(ctx, e, store.Options{Logger: log, Idle: true, Admission: rules, Indexer: r.indexes, Followers: []store.Follower{subscribe.Rows{}}})
	if err != nil {
		return r, err
	}
	if err := r.indexes.Start(ctx, r.store); err != nil {
		return r, err
	}
	r.users.Use(r.store)
	r.subscriptions = subscribe.New(subscribe.Options{Store: r.store, Idle: true})
	r.api = couchapi.New(couchhttp.Options{Store: r.store, Auth: who, Rules: rules, Scripts: r.scripts, Config: c, Indexes: r.indexes, Views: views, Texts: texts, Log: log,
		Subscriptions: r.subscriptions, Version: "restore", Done: r.done})
	return r, nil
}

// close takes everything down that was made, from the top.
func (r *reader) close() (err error) {
	close(r.done)
	if r.api != nil {
		r.api.Wait()
		r.subscriptions.Close()
		r.users.Close()
	}
	if r.indexes != nil {
		r.indexes.Close()
	}
	if r.store != nil {
		err = r.store.Close()
	}
	if r.scripts != nil {
		err = errors.Join(err, r.scripts.Close())
	}
	return errors.Join(err, r.engine.Close())
}
