language {
  compatible_with {
    opentofu = ">= 99"
  }
}
