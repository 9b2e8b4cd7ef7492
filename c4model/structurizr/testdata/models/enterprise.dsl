workspace {
    model {
        enterprise "Mill Town" {
            miller = person "Miller"
            mill = softwareSystem "Mill"
        }
        customer = person "Customer"
        bank = softwareSystem "Bank" {
            counter = container "Counter"
        }
        miller -> bank "Pays into"
    }
}
