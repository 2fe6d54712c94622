// Package cloud is a cloud for tests, and the way to its provider. Everything that engines do to it is written down, and it can be
// told to be as bad as real ones are.
//
// # The cloud
//
// It keeps things by type and ID, in memory or (Open) in a file. It speaks JSON over HTTP:
//
//	POST   /things/{type}        make one: {"name": "a", "attributes": {"size": "1"}}; ?name=a will do
//	GET    /things/{type}        list, of one ?name=a if it is given
//	GET    /things/{type}/{id}   read
//	PUT    /things/{type}/{id}   update
//	DELETE /things/{type}/{id}   delete
//
// Names are not unique, so what is made twice is there twice. A call says by the header Client-Token which operation it belongs to (a client that
// tries again sends the same one) and by Caller who is asking. The cloud writes both down and takes no other notice of them.
//
// # What happened
//
// History is every call, with who made it, what became of it, and whether it took effect. Made counts, and Until waits.
// Nothing in a test has to sleep:
//
//	c.Until(ctx, func() bool { return c.Made("a") == 1 })
//	if twice := c.Twice(); len(twice) > 0 { ... }
//
// # Faults
//
// Inject has it misbehave from now on, for all calls or those of a verb, a type or a name:
//
//	c.Inject(cloud.Fault{Verb: cloud.Create, From: 3, Times: 1, Status: 500})        the third creation fails
//	c.Inject(cloud.Fault{PerSecond: 5})                                              5 calls a second, 429 for the others
//	c.Inject(cloud.Fault{Verb: cloud.Delete, Delay: time.Second})                    slow
//	c.Inject(cloud.Fault{Name: "a", Verb: cloud.Create, After: true, Reset: true})   applied, but not answered
//	c.Inject(cloud.Fault{Name: "a", Verb: cloud.Create, After: true, Hold: true})    the same, by never answering: the client's time runs out
//
//	gate := c.Inject(cloud.Fault{Name: "b*", Verb: cloud.Create, Hold: true})
//	gate.Held(ctx, 2) // two calls wait at the gate, and have done nothing yet
//	gate.End()        // they go on
//
// A call whose client is gone before it took effect never does. Drift and Vanish change and delete things by hand, past all faults.
//
// # From outside the process
//
// `go run ./test/cloud/serve -file things` is one in a process of its own, which goes on with what it had. All of them answer to this:
//
//	GET    /log                     History; ?name=a of one
//	POST   /faults                  Inject; the answer is its number. Durations are in nanoseconds
//	GET    /faults/{number}/held    answers when ?calls=1 wait at the gate
//	DELETE /faults/{number}         End; DELETE /faults ends all
//
// # The provider
//
// Provider cairn.dev/test/cloud is in provider/, a module of its own because its dependencies are none of Cairn's. tools/build
// terraform-provider-cloud puts it beside the engines. Folder writes the folder that `cairn-controller serve --provider-folder` takes, and
// engines take as a filesystem_mirror. Address, caller, timeout and retries come from the provider's configuration, or from $CLOUD_URL,
// $CLOUD_CALLER, $CLOUD_TIMEOUT, $CLOUD_RETRIES:
//
//	terraform {
//	  required_providers { cloud = { source = "cairn.dev/test/cloud" } }
//	}
//	resource "cloud_thing" "a" {
//	  name                = "a"
//	  attributes          = { size = 1 }
//	  secret              = var.secret     # sensitive; so is its token, which the cloud makes
//	  password_wo         = var.password   # write-only: in no state and no plan (OpenTofu 1.11)
//	  password_wo_version = 1
//	  replace_on          = "v1"           # another value makes another thing
//	  parts               = 1000           # so many more objects in the state
//	}
//	data "cloud_things" "all" {}           # .things
//	ephemeral "cloud_token" "a" { id = cloud_thing.a.id }
//
// It can be imported by ID.
//
// # In scripts
//
// Package story has all this as the command `cloud`.
package cloud
