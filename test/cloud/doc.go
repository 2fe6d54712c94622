// Package cloud is a simulated cloud for tests, with a provider. It records every call of an engine, and can inject the
// faults of real clouds.
//
// # The cloud
//
// It stores resources by type and ID, in memory or (Open) in a file. Its API is JSON over HTTP:
//
//	POST   /things/{type}        create: {"name": "a", "attributes": {"size": "1"}}, or ?name=a
//	GET    /things/{type}        list all, or those with ?name=a
//	GET    /things/{type}/{id}   read
//	PUT    /things/{type}/{id}   update
//	DELETE /things/{type}/{id}   delete
//
// Names are not unique, so that a second creation adds a second resource. The header Client-Token has the operation of
// a call (a client that retries sends the same one), and Caller the client. The cloud records both and ignores them
// otherwise.
//
// # History
//
// History has every call, with its client, its outcome, and whether it took effect. Made counts creations, and Until
// waits, so that no test has to sleep:
//
//	c.Until(ctx, func() bool { return c.Made("a") == 1 })
//	if twice := c.Twice(); len(twice) > 0 { ... }
//
// # Faults
//
// Inject adds a fault, for all calls or those of a verb, a type or a name:
//
//	c.Inject(cloud.Fault{Verb: cloud.Create, From: 3, Times: 1, Status: 500})        the third creation fails
//	c.Inject(cloud.Fault{PerSecond: 5})                                              5 calls a second, 429 for the others
//	c.Inject(cloud.Fault{Verb: cloud.Delete, Delay: time.Second})                    slow
//	c.Inject(cloud.Fault{Name: "a", Verb: cloud.Create, After: true, Reset: true})   applied, without a response
//	c.Inject(cloud.Fault{Name: "a", Verb: cloud.Create, After: true, Hold: true})    the same, by a client timeout
//
//	gate := c.Inject(cloud.Fault{Name: "b*", Verb: cloud.Create, Hold: true})
//	gate.Held(ctx, 2) // two calls wait, and have no effect yet
//	gate.End()        // they continue
//
// A call whose client disconnects before it takes effect has no effect. Drift and Delete change and delete resources
// outside of any engine, without faults.
//
// # Control over HTTP
//
// `go run ./test/cloud/serve -file resources` runs a cloud in its own process, with the content of the file. Every
// cloud serves:
//
//	GET    /log                     History, or that of ?name=a
//	POST   /faults                  Inject; the response has its number. Durations are in nanoseconds
//	GET    /faults/{number}/held    responds once ?calls=1 wait
//	DELETE /faults/{number}         End; DELETE /faults ends all
//
// # The provider
//
// Provider cairn.dev/test/cloud is in provider/, a separate module since Cairn does not need its dependencies.
// tools/build terraform-provider-cloud installs it beside the engines. Folder writes a folder for `cairn-controller
// serve --provider-folder`, which is also a filesystem_mirror of engines. Address, caller, timeout and retries come
// from the provider's configuration, or from $CLOUD_URL, $CLOUD_CALLER, $CLOUD_TIMEOUT, $CLOUD_RETRIES:
//
//	terraform {
//	  required_providers { cloud = { source = "cairn.dev/test/cloud" } }
//	}
//	resource "cloud_thing" "a" {
//	  name                = "a"
//	  attributes          = { size = 1 }
//	  secret              = var.secret     # sensitive; so is its token, which the cloud generates
//	  password_wo         = var.password   # write-only: in no state and no plan (OpenTofu 1.11)
//	  password_wo_version = 1
//	  replace_on          = "v1"           # another value replaces the resource
//	  parts               = 1000           # the number of additional objects in the state
//	}
//	data "cloud_things" "all" {}           # .things
//	ephemeral "cloud_token" "a" { id = cloud_thing.a.id }
//
// It can be imported by ID.
//
// # In scripts
//
// Package story has the script command `cloud` for all of this.
package cloud
