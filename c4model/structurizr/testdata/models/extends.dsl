workspace extends include.dsl {
    name "Orchard, extended"
    model {
        !element press {
            basket = container "Basket"
        }
        press.basket -> press.screw "Feeds"
        grower -> press "Turns"
    }
    views {
    }
}
