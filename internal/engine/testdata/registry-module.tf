module "m" {
  source = "registry.invalid/foo/bar/aws"
}
