# registry
# answer: GET 200 {"modules":[]}
module "m" { source = "registry.test/a/b/c" }
