//! Presses of a button whose contacts bounce.

/// A button.
#[derive(Debug, Default)]
pub(crate) struct Button {
    down: bool,
    changed: u64,
}

impl Button {
    /// Whether it has been pressed since the last call: once a press. `now` counts cycles, `bounce` of which contacts may bounce.
    pub fn pressed(&mut self, down: bool, now: u64, bounce: u64) -> bool {
        if down == self.down || now - self.changed < bounce {
            return false;
        }
        (self.down, self.changed) = (down, now);
        down
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_press_counts_once() {
        let mut button = Button::default();
        let mut presses = Vec::new();
        // It bounces when pressed at 100 and when let go at 200, for 9 each time.
        for now in 0..300 {
            let down = (100..200).contains(&now) && !(103..106).contains(&now) || (205..209).contains(&now);
            if button.pressed(down, now, 10) {
                presses.push(now);
            }
        }
        assert_eq!(presses, [100]);
    }
}
