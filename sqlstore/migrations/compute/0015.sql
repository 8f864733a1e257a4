-- What files of the host have added to the providers of its tree, an object by provider, NULL when they have added nothing.
ALTER TABLE nodes ADD COLUMN additions {text};
