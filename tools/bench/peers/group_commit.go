// A lean receiver of webhooks in Go, which does what group_commit.mjs does: net/http, and SQLite
// through cgo, so that it needs no driver but only the library of the system. Arguments: the
// directory of the database, the secret, the header with the signature.
package main

/*
#cgo LDFLAGS: -lsqlite3
#include <sqlite3.h>
#include <stdlib.h>
static int bind_text(sqlite3_stmt *s, int at, const char *text, int bytes) {
	return sqlite3_bind_text(s, at, text, bytes, SQLITE_TRANSIENT);
}
static int bind_blob(sqlite3_stmt *s, int at, const void *blob, int bytes) {
	return sqlite3_bind_blob(s, at, blob, bytes, SQLITE_TRANSIENT);
}
*/
import "C"

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"
	"unsafe"
)

const schema = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  CREATE TABLE deliveries (id TEXT PRIMARY KEY, at INTEGER, "trigger" TEXT, body BLOB);
  CREATE INDEX deliveries_by_trigger ON deliveries ("trigger", at);
  CREATE TABLE tasks (id TEXT PRIMARY KEY, delivery TEXT, state TEXT, at INTEGER);
  CREATE INDEX tasks_by_state ON tasks (state, at);`

type accept struct {
	path string
	body []byte
	task string
	done chan struct{}
}

type database struct{ handle *C.sqlite3 }

func (db database) check(code C.int) {
	if code != C.SQLITE_OK && code != C.SQLITE_DONE {
		log.Fatal(C.GoString(C.sqlite3_errmsg(db.handle)))
	}
}

func (db database) exec(sql string) {
	text := C.CString(sql)
	defer C.free(unsafe.Pointer(text))
	db.check(C.sqlite3_exec(db.handle, text, nil, nil, nil))
}

func (db database) prepare(sql string) *C.sqlite3_stmt {
	text := C.CString(sql)
	defer C.free(unsafe.Pointer(text))
	var statement *C.sqlite3_stmt
	db.check(C.sqlite3_prepare_v2(db.handle, text, -1, &statement, nil))
	return statement
}

func (db database) run(statement *C.sqlite3_stmt, values ...any) {
	for at, value := range values {
		place := C.int(at + 1)
		switch value := value.(type) {
		case string:
			db.check(C.bind_text(statement, place, (*C.char)(unsafe.Pointer(unsafe.StringData(value))), C.int(len(value))))
		case []byte:
			db.check(C.bind_blob(statement, place, unsafe.Pointer(unsafe.SliceData(value)), C.int(len(value))))
		case int64:
			db.check(C.sqlite3_bind_int64(statement, place, C.sqlite3_int64(value)))
		}
	}
	db.check(C.sqlite3_step(statement))
	db.check(C.sqlite3_reset(statement))
}

// store commits everything that waits at once.
func store(directory string, waiting <-chan accept) {
	path := C.CString(directory + "/peer.db")
	defer C.free(unsafe.Pointer(path))
	var db database
	db.check(C.sqlite3_open(path, &db.handle))
	db.exec(schema)
	addDelivery := db.prepare("INSERT INTO deliveries VALUES (?, ?, ?, ?)")
	addTask := db.prepare("INSERT INTO tasks VALUES (?, ?, 'pending', ?)")
	for first := range waiting {
		batch := []accept{first}
		for more := true; more; {
			select {
			case next := <-waiting:
				batch = append(batch, next)
			default:
				more = false
			}
		}
		db.exec("BEGIN")
		for _, one := range batch {
			id, now := newID(), time.Now().UnixMilli()
			db.run(addDelivery, id, now, one.path, one.body)
			db.run(addTask, one.task, id, now)
		}
		db.exec("COMMIT")
		for _, one := range batch {
			close(one.done)
		}
	}
}

func newID() string {
	var bytes [16]byte
	rand.Read(bytes[:])
	return hex.EncodeToString(bytes[:])
}

func answer(response http.ResponseWriter, status int, value map[string]any) {
	response.Header().Set("Content-Type", "application/json")
	response.WriteHeader(status)
	json.NewEncoder(response).Encode(value)
}

func main() {
	directory, secret, header := os.Args[1], []byte(os.Args[2]), os.Args[3]
	waiting := make(chan accept, 1024)
	go store(directory, waiting)
	http.HandleFunc("POST /webhook/{trigger}", func(response http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return
		}
		mac := hmac.New(sha256.New, secret)
		mac.Write(body)
		own := "sha256=" + hex.EncodeToString(mac.Sum(nil))
		if !hmac.Equal([]byte(own), []byte(request.Header.Get(header))) {
			answer(response, 401, map[string]any{"error": "the signature does not match"})
			return
		}
		var event map[string]any
		if json.Unmarshal(body, &event) != nil || event["ref"] != "refs/heads/main" {
			answer(response, 200, map[string]any{"filtered": true})
			return
		}
		one := accept{request.PathValue("trigger"), body, newID(), make(chan struct{})}
		waiting <- one
		<-one.done
		answer(response, 200, map[string]any{"accepted": true, "task": one.task})
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("http://%s\n", listener.Addr())
	log.Fatal(http.Serve(listener, nil))
}
