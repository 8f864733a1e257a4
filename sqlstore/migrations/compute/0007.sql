-- Servers move: what a host is to have built anew, what a server had on the host that it leaves, and the
-- properties of the image that it was created with.
ALTER TABLE hosted ADD COLUMN generation BIGINT NOT NULL DEFAULT 0;
ALTER TABLE hosted ADD COLUMN bound {text};
ALTER TABLE migrations ADD COLUMN former {text};
ALTER TABLE servers ADD COLUMN image_meta {text};
