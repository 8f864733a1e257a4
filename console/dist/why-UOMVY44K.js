import{g as t}from"./chunk-RLH3V6A7.js";function h({route:o}){return t("h1",{children:["Why not?",o.id&&`: ${o.id}`]})}export{h as default};
